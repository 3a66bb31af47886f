#pragma once

#include "wire/hash.hpp"

#include <troupe/request/request.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// Requests that were lately found valid, by a hash of their bytes: validity follows from the
/// bytes, so the same request need not be checked again. If two requests have the same hash, the
/// worker, which compares bytes, refuses the invalid one.
///
/// Any thread may look up and add. Relaxed: each number stands for itself, and a miss only costs a
/// check.
class valid_requests {
 public:
  /// The key of a request of this type with these bytes.
  [[nodiscard]] static std::uint64_t key(const request_type& type,
                                         std::span<const std::byte> bytes) noexcept {
    return (wire::hash_of(bytes) ^ type.id) | 1;  // odd, so never that of an empty place
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
