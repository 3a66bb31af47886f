#pragma once

#include "os/cache/content_folder.hpp"

#include <troupe/base/result.hpp>
#include <troupe/jit/digest.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace troupe::jit {

/// Compiled images in a folder that only this user may access, see `os::content_folder`.
class disk_cache {
 public:
  using state = os::content_folder::state;
  using entry = os::content_folder::entry;

  /// Creates the folder if it does not exist. \errors those of `os::private_folder::open`
  [[nodiscard]] static result<disk_cache> open(const std::string& folder, std::uint64_t most_bytes);

  [[nodiscard]] entry find(const digest& key) const { return folder_.find(key.bytes); }
  void keep(const digest& key, std::span<const std::byte> content) const {
    folder_.keep(key.bytes, content);
  }
  void drop(const digest& key) const noexcept { folder_.drop(key.bytes); }

 private:
  explicit disk_cache(os::content_folder folder) noexcept : folder_(std::move(folder)) {}

  os::content_folder folder_;
};

}  // namespace troupe::jit
