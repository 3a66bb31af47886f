#pragma once

#include "os/private_folder.hpp"

#include <troupe/base/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::os {

/// Contents in a folder that only this user may access, a file each, named by the SHA-256 of their
/// keys. Content read is checked against its stored digest and key; if they do not match, it is
/// dropped. Any process and thread may use the same folder: a file appears whole or not at all.
class content_folder {
 public:
  using digest = std::array<std::uint8_t, 32>;

  /// The extension of its files, and their first bytes.
  struct form {
    std::string_view extension;  ///< lives as long as the folder
    std::array<char, 16> mark{};
  };

  /// Makes the folder if it is not there. \errors those of `os::private_folder::open`
  [[nodiscard]] static result<content_folder> open(const std::string& folder, const form& f,
                                                   std::uint64_t most_bytes);

  enum class state : std::uint8_t { missing, good, damaged };
  struct entry {
    state what = state::missing;
    std::vector<std::byte> content{};
  };
  /// A damaged one is removed.
  [[nodiscard]] entry find(const digest& key) const;
  /// Content that cannot be kept is silently dropped: it can be made again.
  void keep(const digest& key, std::span<const std::byte> content) const;
  void drop(const digest& key) const noexcept;

 private:
  content_folder(private_folder folder, const form& f, std::uint64_t most_bytes) noexcept
      : folder_(std::move(folder)), form_(f), most_bytes_(most_bytes) {}

  [[nodiscard]] std::string file_of(const digest& key) const;
  void make_space() const;

  private_folder folder_;
  form form_;
  std::uint64_t most_bytes_;
};

/// The folder for this user's reproducible data: `name` in $XDG_CACHE_HOME/troupe or
/// ~/.cache/troupe; empty if neither is known.
[[nodiscard]] std::string cache_folder(std::string_view name);

}  // namespace troupe::os
