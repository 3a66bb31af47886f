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

/// Hands out the heap behind the reply slots to replies that do not fit theirs. Any thread. A piece
/// is its slot's until another request of the slot begins, or, where room is short, until the
/// program says that it has copied it.
class reply_heap {
 public:
  reply_heap(std::byte* base, const wire::mailbox_header* mailbox) noexcept
      : base_(base), mailbox_(mailbox) {}

  struct piece {
    std::span<std::byte> bytes;  ///< empty: there is no room
    std::uint32_t place = 0;     ///< see `wire::reply_slot::heap_place`
  };
  /// Room for the reply of a slot. What the slot's last reply had is free again: the program has
  /// copied that before it used the slot again.
  [[nodiscard]] piece take(std::uint16_t slot, std::size_t bytes);
  /// The slot has a reply that lies elsewhere, or none.
  void release(std::uint16_t slot) noexcept {
    // Relaxed: what this slot holds was taken before, and the slot orders its requests.
    if (held_.load(std::memory_order_relaxed) != 0) let_go(slot);
  }

 private:
  void let_go(std::uint16_t slot) noexcept;
  /// Where there are so many units in a row; with the lock.
  [[nodiscard]] std::optional<std::size_t> gap_of(std::size_t units) const noexcept;
  /// With the lock, as the next.
  void free_piece(std::size_t begin) noexcept;
  /// Frees what the program has copied; with the lock.
  void free_copied() noexcept;

  std::byte* base_;
  const wire::mailbox_header* mailbox_;
  std::atomic<std::size_t> held_{0};         // size of `by_slot_`
  std::mutex mutex_;                         // guards what follows
  std::map<std::size_t, std::size_t> used_;  // where each piece begins and ends, in units
  std::unordered_map<std::uint16_t, std::size_t> by_slot_;
};

}  // namespace troupe::worker
