#pragma once

#include "wire/hash.hpp"

#include <troupe/request/request.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// Requests that were found valid lately, by a hash of their bytes: what a request says follows
/// from them, so one that is sent again need not be checked again. Where two have the same hash the
/// worker, which compares bytes, is the one that refuses.
///
/// Any thread may look and add. Relaxed: a number stands for itself, and whoever misses one checks.
class valid_requests {
 public:
  /// Of a request of this type with these bytes.
  [[nodiscard]] static std::uint64_t key(const request_type& type,
                                         std::span<const std::byte> bytes) noexcept {
    return (wire::hash_of(bytes) ^ type.id) | 1;  // never that of an empty place
  }
  [[nodiscard]] bool contains(std::uint64_t key) const noexcept {
    return keys_[place_of(key)].load(std::memory_order_relaxed) == key;
  }
  void add(std::uint64_t key) noexcept {
    keys_[place_of(key)].store(key, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t places = 1024;

  [[nodiscard]] static std::size_t place_of(std::uint64_t key) noexcept { return key / 2 % places; }

  std::array<std::atomic<std::uint64_t>, places> keys_{};
};

}  // namespace troupe
