#pragma once

#include "memory/arena.hpp"
#include "os/shared_memory.hpp"
#include "wire/layout.hpp"

#include <troupe/base/result.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace troupe {

/// The program's end of the request mailbox: slots, their order, and the bell of the worker that
/// reads them. Any thread may send. Sending a request that fits its slot never waits, locks or
/// allocates.
///
///  - Slots are handed out from a stack of free ones: its head holds the top slot and a count that
///    changes with every operation, so that a compare-exchange cannot mistake a slot that came back
///    for one that never left (ABA). Acquire on taking, release on giving back: the next owner sees
///    what the last one did, and the link of the slot below, however many were taken and given back
///    in between, because all of them are read-modify-writes of the head.
///  - `tail_` gives each request its ticket, its place in the order of all; relaxed, since it
///    publishes nothing. One release store publishes an entry; readers recognise by the ticket in
///    it that it is there. The ring has at least twice as many places as there are slots, so an
///    entry is never overwritten before both readers (worker and reactor) have passed it.
///  - The worker has read the cache lines that the next request will write, so they must be fetched
///    back from its processor. That is asked for as early as can be known: a slot's when it comes
///    back, the ring's a line ahead. Otherwise each request would wait for it.
class mailbox {
 public:
  [[nodiscard]] static result<std::unique_ptr<mailbox>> create(std::uint32_t capacity,
                                                               std::uint64_t heap_bytes);

  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  /// Tells workers where a peer's memory is. \returns its pool number; 0 if there are too many.
  /// One thread at a time.
  [[nodiscard]] wire::pool_number add_peer(std::byte* base, std::uint64_t bytes) noexcept;
  [[nodiscard]] std::optional<std::uint16_t> take_slot() noexcept;
  /// Relaxed: other threads may take or give back slots meanwhile.
  [[nodiscard]] bool has_free_slot() const noexcept {
    return static_cast<std::uint16_t>(free_top_.load(std::memory_order_relaxed)) != no_slot;
  }
  void give_back_slot(std::uint16_t slot) noexcept { give_back_slots({&slot, 1}); }
  /// Gives back several at the cost of one. The first is the first to be taken again.
  void give_back_slots(std::span<const std::uint16_t> slots) noexcept;

  [[nodiscard]] wire::slot_header& header(std::uint16_t slot) noexcept {
    return *reinterpret_cast<wire::slot_header*>(slots_ + slot * wire::slot_bytes);
  }
  [[nodiscard]] std::span<std::byte> payload(std::uint16_t slot) noexcept {
    return {slots_ + slot * wire::slot_bytes + sizeof(wire::slot_header), wire::slot_payload_bytes};
  }
  /// The bytes of a request that was sent, in its slot or in the heap.
  [[nodiscard]] std::span<const std::byte> sent_bytes(std::uint16_t slot) noexcept;

  /// A hash of the operation and its bytes: equal if the request is sent again.
  [[nodiscard]] std::uint64_t digest(std::uint16_t slot) noexcept;

  /// Space outside the slots, for long requests.
  [[nodiscard]] std::optional<arena::piece> take_heap(std::uint64_t bytes);
  void give_back_heap(arena::piece piece);
  [[nodiscard]] std::span<std::byte> heap(const arena::piece& piece) noexcept {
    return {heap_ + piece.offset, piece.bytes};
  }
  [[nodiscard]] std::uint64_t heap_used_bytes();
  [[nodiscard]] std::uint64_t heap_bytes() const noexcept { return shared_->geometry.heap_bytes; }

  /// Gives the request its ticket, publishes it and wakes a sleeping worker. `on_its_way`, if
  /// given, is unset after the ticket is taken and before the request is visible.
  std::uint64_t publish(std::uint16_t slot, std::uint8_t lane,
                        std::atomic<bool>* on_its_way = nullptr) noexcept;

  /// The entry of a ticket, or 0 while it is not published.
  [[nodiscard]] std::uint64_t entry(std::uint64_t ticket) const noexcept {
    const std::uint64_t packed = ring_[ticket & ring_mask_].load(std::memory_order_acquire);
    return wire::ring_entry::is_for(packed, ticket) ? packed : 0;
  }
  /// Every request sent before this call has a smaller ticket. A request with a smaller ticket may
  /// not be published yet: see `entry`.
  [[nodiscard]] std::uint64_t next_ticket() const noexcept {
    return tail_.load(std::memory_order_relaxed);
  }

  /// Hands the mailbox to a worker: it runs `replay` first, then everything from `first_ticket` on.
  /// Held requests wait for `release_held`, unless `released`.
  void activate(std::uint64_t worker, const std::vector<std::uint64_t>& replay,
                std::uint64_t first_ticket, bool released = true) noexcept;
  void release_held() noexcept;
  /// Releases a request that was sent with `hold::until_opened`. Precondition: its slot has not
  /// been given back; its worker never causes that before this call.
  void open(std::uint16_t slot) noexcept;
  void ring_worker() noexcept;
  /// Graphs run on this lane, see `mailbox_header::graph_lanes`. Any thread.
  void expect_graphs(std::uint8_t lane) noexcept;
  /// Wakes every sleeping thread of the worker, to check again what it holds back.
  void wake_worker() noexcept;

  [[nodiscard]] std::atomic<std::uint32_t>& waits() noexcept { return shared_->waits; }
  [[nodiscard]] wire::doorbells& bells(std::uint64_t worker) noexcept {
    return bells_[worker % wire::doorbell_sets];
  }
  /// The bells of the worker that has the mailbox, or of the last one that had it.
  [[nodiscard]] wire::doorbells& active_bells() noexcept {
    return bells(active_.load(std::memory_order_relaxed));
  }

  [[nodiscard]] const os::unique_fd& memory() const noexcept { return memory_; }
  [[nodiscard]] const os::unique_fd& bell_memory() const noexcept { return bell_memory_; }
  [[nodiscard]] std::uint64_t total_bytes() const noexcept { return shared_->geometry.total_bytes; }
  [[nodiscard]] const wire::mailbox_header* shared() const noexcept { return shared_; }

 private:
  mailbox(std::uint32_t capacity, os::unique_fd memory, os::mapping pages,
          os::unique_fd bell_memory, os::mapping bell_pages);

  std::uint32_t capacity_;
  os::unique_fd memory_;
  os::mapping pages_;
  os::unique_fd bell_memory_;
  os::mapping bell_pages_;

  wire::mailbox_header* shared_;
  std::atomic<std::uint64_t>* ring_;
  std::uint64_t* replay_;
  std::byte* slots_;
  std::byte* heap_;
  wire::doorbells* bells_;
  std::uint64_t ring_mask_;

  static constexpr std::uint16_t no_slot = 0xffff;
  std::vector<std::atomic<std::uint16_t>> next_free_;
  std::vector<std::uint8_t> lines_;  // cache lines of a slot's request; belongs to the slot's owner
  alignas(wire::cache_line) std::atomic<std::uint64_t> free_top_;  // count << 16 | slot
  alignas(wire::cache_line) std::atomic<std::uint64_t> tail_{0};

  // Changes with each worker. Relaxed: ringing the old worker is harmless, because the new one
  // reads the mailbox when it starts.
  alignas(wire::cache_line) std::atomic<std::uint64_t> active_{0};
  std::mutex heap_mutex_;
  arena heap_arena_;
};

}  // namespace troupe
