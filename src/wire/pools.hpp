#pragma once

#include <troupe/tensor/buffer.hpp>

#include <cstddef>
#include <cstdint>

/// The pools of memory that a request can name. Each device has its own numbers: 0 is the device's
/// own memory, 1 is host memory, and the others are the memory of other devices of the system (its
/// peers). So the pool of a buffer has another number on each device; its `memory_space` is the
/// same on all.
namespace troupe::wire {

using pool_number = std::uint8_t;

inline constexpr pool_number device_pool = 0;
inline constexpr pool_number host_pool = 1;
/// The memory of a peer. Each device numbers its peers in the order in which it meets them.
inline constexpr pool_number first_peer_pool = 2;
inline constexpr std::size_t max_peers = 64;
inline constexpr std::size_t pool_count = first_peer_pool + max_peers;

/// The pool of a space that is not a peer's.
[[nodiscard]] constexpr pool_number own_pool(memory_space space) noexcept {
  static_assert(static_cast<pool_number>(memory_space::device) == device_pool &&
                static_cast<pool_number>(memory_space::host) == host_pool);
  return static_cast<pool_number>(space);
}
[[nodiscard]] constexpr memory_space space_of(pool_number pool) noexcept {
  return pool == host_pool ? memory_space::host : memory_space::device;
}

}  // namespace troupe::wire
