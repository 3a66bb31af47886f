#pragma once

#include "os/private_folder.hpp"

#include <troupe/base/result.hpp>
#include <troupe/jit/digest.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::jit {

/// Compiled images in a folder of this user's alone, a file each, by their keys. What is read is
/// checked against the digest that was written with it, and against the key; what does not agree is
/// dropped. Any process and thread may use the same folder: a file appears whole or not at all.
class disk_cache {
 public:
  /// Makes the folder if it is not there. \errors those of `os::private_folder::open`
  [[nodiscard]] static result<disk_cache> open(const std::string& folder, std::uint64_t most_bytes);

  enum class state : std::uint8_t { missing, good, damaged };
  struct entry {
    state what = state::missing;
    std::vector<std::byte> content{};
  };
  /// A damaged one is removed.
  [[nodiscard]] entry find(const digest& key) const;
  /// What cannot be kept is not, and nobody is told: it is compiled again.
  void keep(const digest& key, std::span<const std::byte> content) const;
  void drop(const digest& key) const noexcept;

 private:
  disk_cache(os::private_folder folder, std::uint64_t most_bytes) noexcept
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  void make_room() const;

  os::private_folder folder_;
  std::uint64_t most_bytes_;
};

}  // namespace troupe::jit
