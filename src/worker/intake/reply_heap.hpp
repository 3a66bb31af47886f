#pragma once

#include "wire/layout.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>

namespace troupe::worker {

/// Allocates replies that do not fit their slots from the heap behind the slots. Any thread. A
/// piece belongs to its slot until another request of the slot begins, or, if memory is short,
/// until the program says that it has copied the reply.
class reply_heap {
 public:
  reply_heap(std::byte* base, const wire::mailbox_header* mailbox) noexcept
      : base_(base), mailbox_(mailbox) {}

  struct piece {
    std::span<std::byte> bytes;  ///< empty: there is no space
    std::uint32_t place = 0;     ///< see `wire::reply_slot::heap_place`
  };
  /// Allocates the reply of a slot. The slot's last reply is free again: the program copied it
  /// before it reused the slot.
  [[nodiscard]] piece take(std::uint16_t slot, std::size_t bytes);
  /// The slot's reply is elsewhere, or there is none.
  void release(std::uint16_t slot) noexcept {
    // Relaxed: the slot's piece was taken before, and the slot orders its requests.
    if (held_.load(std::memory_order_relaxed) != 0) let_go(slot);
  }

 private:
  void let_go(std::uint16_t slot) noexcept;
  /// The first gap of that many units; with the lock.
  [[nodiscard]] std::optional<std::size_t> gap_of(std::size_t units) const noexcept;
  /// With the lock, as the next.
  void free_piece(std::size_t begin) noexcept;
  /// Frees the replies that the program has copied; with the lock.
  void free_copied() noexcept;

  std::byte* base_;
  const wire::mailbox_header* mailbox_;
  std::atomic<std::size_t> held_{0};         // size of `by_slot_`
  std::mutex mutex_;                         // guards the following
  std::map<std::size_t, std::size_t> used_;  // begin and end of each piece, in units
  std::unordered_map<std::uint16_t, std::size_t> by_slot_;
};

}  // namespace troupe::worker
