#include "device/mailbox/mailbox.hpp"

#include "base/fetch_ahead.hpp"
#include "os/futex.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>

namespace troupe {
namespace {

constexpr std::uint64_t heap_granule_bytes = 1024;
constexpr std::uint64_t entries_per_line = wire::cache_line / sizeof(std::uint64_t);

wire::mailbox_geometry geometry_of(std::uint32_t capacity, std::uint64_t heap_bytes) {
  const auto aligned = [](std::uint64_t offset) {
    return (offset + wire::cache_line - 1) / wire::cache_line * wire::cache_line;
  };
  wire::mailbox_geometry g;
  g.capacity = capacity;
  g.ring_size = std::bit_ceil(2 * capacity);
  g.ring_offset = aligned(sizeof(wire::mailbox_header));
  g.replay_offset = aligned(g.ring_offset + g.ring_size * sizeof(std::uint64_t));
  g.slots_offset = aligned(g.replay_offset + capacity * sizeof(std::uint64_t));
  g.heap_offset = g.slots_offset + capacity * wire::slot_bytes;
  g.heap_bytes = heap_bytes / heap_granule_bytes * heap_granule_bytes;
  g.total_bytes = g.heap_offset + g.heap_bytes;
  return g;
}

}  // namespace

result<std::unique_ptr<mailbox>> mailbox::create(std::uint32_t capacity, std::uint64_t heap_bytes) {
  const wire::mailbox_geometry plan = geometry_of(capacity, heap_bytes);
  auto made = os::create_memory_written_here("troupe-mailbox", plan.total_bytes);
  if (!made) return std::move(made).error();

  constexpr std::size_t bell_bytes = sizeof(wire::doorbells) * wire::doorbell_sets;
  auto bell_memory = os::create_shared_memory("troupe-doorbells", bell_bytes);
  if (!bell_memory) return std::move(bell_memory).error();
  auto bell_pages = os::map(*bell_memory, bell_bytes, os::protection::read_write);
  if (!bell_pages) return std::move(bell_pages).error();

  (::new (made->pages.address()) wire::mailbox_header())->geometry = plan;
  ::new (bell_pages->address()) wire::doorbells[wire::doorbell_sets];
  return std::unique_ptr<mailbox>(new mailbox(capacity, std::move(made->memory),
                                              std::move(made->pages), *std::move(bell_memory),
                                              *std::move(bell_pages)));
}

mailbox::mailbox(std::uint32_t capacity, os::unique_fd memory, os::mapping pages,
                 os::unique_fd bell_memory, os::mapping bell_pages)
    : capacity_(capacity),
      memory_(std::move(memory)),
      pages_(std::move(pages)),
      bell_memory_(std::move(bell_memory)),
      bell_pages_(std::move(bell_pages)),
      shared_(reinterpret_cast<wire::mailbox_header*>(pages_.address())),
      ring_(reinterpret_cast<std::atomic<std::uint64_t>*>(pages_.address() +
                                                          shared_->geometry.ring_offset)),
      replay_(reinterpret_cast<std::uint64_t*>(pages_.address() + shared_->geometry.replay_offset)),
      slots_(pages_.address() + shared_->geometry.slots_offset),
      heap_(pages_.address() + shared_->geometry.heap_offset),
      bells_(reinterpret_cast<wire::doorbells*>(bell_pages_.address())),
      ring_mask_(shared_->geometry.ring_size - 1),
      next_free_(capacity),
      lines_(capacity),
      free_top_(0),
      heap_arena_(heap_granule_bytes) {
  for (std::uint32_t i = 0; i < capacity; ++i) {
    ::new (&header(static_cast<std::uint16_t>(i))) wire::slot_header();
    next_free_[i].store(i + 1 < capacity ? static_cast<std::uint16_t>(i + 1) : no_slot,
                        std::memory_order_relaxed);
  }
  heap_arena_.grow(shared_->geometry.heap_bytes);
}

wire::pool_number mailbox::add_peer(std::byte* base, std::uint64_t bytes) noexcept {
  const std::uint32_t number = shared_->peers.load(std::memory_order_relaxed);
  if (number == wire::max_peers) return 0;
  shared_->peer_ranges[number] = {.base = reinterpret_cast<std::uint64_t>(base), .bytes = bytes};
  shared_->peers.store(number + 1, std::memory_order_release);
  return static_cast<wire::pool_number>(wire::first_peer_pool + number);
}

std::optional<std::uint16_t> mailbox::take_slot() noexcept {
  std::uint64_t top = free_top_.load(std::memory_order_acquire);
  for (;;) {
    const auto slot = static_cast<std::uint16_t>(top);
    if (slot == no_slot) return std::nullopt;
    // May read the link of a slot that another thread has just taken; then the exchange fails.
    const std::uint16_t next = next_free_[slot].load(std::memory_order_relaxed);
    if (free_top_.compare_exchange_weak(top, ((top >> 16) + 1) << 16 | next,
                                        std::memory_order_acquire, std::memory_order_acquire)) {
      return slot;
    }
  }
}

void mailbox::give_back_slots(std::span<const std::uint16_t> slots) noexcept {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    // The next request in a slot is often as long as the last one.
    const std::byte* begin = slots_ + slots[i] * wire::slot_bytes;
    for (std::size_t line = 0; line < lines_[slots[i]]; ++line)
      detail::fetch_for_writing(begin + line * wire::cache_line);
    if (i > 0) next_free_[slots[i - 1]].store(slots[i], std::memory_order_relaxed);
  }
  std::uint64_t top = free_top_.load(std::memory_order_relaxed);
  do {
    next_free_[slots.back()].store(static_cast<std::uint16_t>(top), std::memory_order_relaxed);
  } while (!free_top_.compare_exchange_weak(top, ((top >> 16) + 1) << 16 | slots.front(),
                                            std::memory_order_release, std::memory_order_relaxed));
}

std::span<const std::byte> mailbox::sent_bytes(std::uint16_t slot) noexcept {
  const wire::slot_header& h = header(slot);
  if (h.payload_bytes <= wire::slot_payload_bytes) return payload(slot).first(h.payload_bytes);
  return {heap_ + h.spill_offset, h.payload_bytes};
}

std::uint64_t mailbox::digest(std::uint16_t slot) noexcept {
  const std::span<const std::byte> bytes = sent_bytes(slot);
  return detail::hash_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) ^
         header(slot).operation;
}

std::optional<arena::piece> mailbox::take_heap(std::uint64_t bytes) {
  const std::lock_guard lock(heap_mutex_);
  if (bytes > shared_->geometry.heap_bytes) return std::nullopt;
  auto piece = heap_arena_.take(bytes);
  if (!piece) {
    heap_arena_.coalesce();
    piece = heap_arena_.take(bytes);
    if (!piece) piece = heap_arena_.take_tight(bytes);
  }
  return piece;
}

void mailbox::give_back_heap(arena::piece piece) {
  const std::lock_guard lock(heap_mutex_);
  heap_arena_.give_back(piece);
}

std::uint64_t mailbox::heap_used_bytes() {
  const std::lock_guard lock(heap_mutex_);
  return heap_arena_.used_bytes();
}

std::uint64_t mailbox::publish(std::uint16_t slot, std::uint8_t lane,
                               std::atomic<bool>* on_its_way) noexcept {
  const std::uint64_t ticket = tail_.fetch_add(1, std::memory_order_relaxed);
  // A sender that sees it unset sends later, and so gets a later ticket.
  if (on_its_way != nullptr) on_its_way->store(false, std::memory_order_release);
  wire::slot_header& h = header(slot);
  h.ticket = ticket;
  const std::size_t used = sizeof(wire::slot_header) + h.payload_bytes;
  lines_[slot] = static_cast<std::uint8_t>(
      (std::min(used, wire::slot_bytes) + wire::cache_line - 1) / wire::cache_line);
  if (ticket % entries_per_line == 0) {
    detail::fetch_for_writing(&ring_[(ticket + entries_per_line) & ring_mask_]);
  }
  ring_[ticket & ring_mask_].store(
      wire::ring_entry{.ticket = ticket, .slot = slot, .lane = lane}.packed(),
      std::memory_order_release);
  ring_worker();
  return ticket;
}

void mailbox::ring_worker() noexcept {
  // Publish the entry before reading `worker_sleeps`; the worker announces its sleep before its
  // last look at the ring. So at least one of the two sees the other's store.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  wire::doorbells& bells = active_bells();
  if (bells.worker_sleeps.load(std::memory_order_relaxed) == 0) return;
  // Only the thread that changes the 1 to 0 makes the system call, for all.
  if (bells.worker_sleeps.exchange(0, std::memory_order_relaxed) == 0) return;
  bells.request.fetch_add(1, std::memory_order_release);
  os::futex_wake(bells.request, 1, os::sharing::processes);
}

void mailbox::wake_worker() noexcept {
  wire::doorbells& bells = active_bells();
  bells.request.fetch_add(1, std::memory_order_release);
  os::futex_wake(bells.request, std::numeric_limits<int>::max(), os::sharing::processes);
}

void mailbox::expect_graphs(std::uint8_t lane) noexcept {
  const std::uint32_t bit = 1u << lane;
  if ((shared_->graph_lanes.load(std::memory_order_relaxed) & bit) != 0) return;
  // Release, then ring: a worker that finds the bell raised sees the bit.
  shared_->graph_lanes.fetch_or(bit, std::memory_order_release);
  for (std::size_t i = 0; i < wire::doorbell_sets; ++i) {
    bells_[i].request.fetch_add(1, std::memory_order_release);
    os::futex_wake(bells_[i].request, std::numeric_limits<int>::max(), os::sharing::processes);
  }
}

void mailbox::activate(std::uint64_t worker, const std::vector<std::uint64_t>& replay,
                       std::uint64_t first_ticket, bool released) noexcept {
  std::copy(replay.begin(), replay.end(), replay_);
  shared_->active.replay_count = static_cast<std::uint32_t>(replay.size());
  shared_->active.first_ticket = first_ticket;
  shared_->active.released.store(released ? 1 : 0, std::memory_order_relaxed);
  wire::doorbells& fresh = bells(worker);
  fresh.worker_sleeps.store(0, std::memory_order_relaxed);
  active_.store(worker, std::memory_order_relaxed);
  // Release: the worker that reads its number sees the replay list. Always ring: a standby sleeps
  // without announcing it here.
  shared_->active.worker.store(worker, std::memory_order_release);
  fresh.request.fetch_add(1, std::memory_order_release);
  os::futex_wake(fresh.request, 1, os::sharing::processes);
}

void mailbox::open(std::uint16_t slot) noexcept {
  // Release: the worker that sees this also sees all stores made for the request before.
  header(slot).held.store(wire::hold::none, std::memory_order_release);
  wake_worker();
}

void mailbox::release_held() noexcept {
  // Release: the worker that sees this also sees which requests were revoked.
  shared_->active.released.store(1, std::memory_order_release);
  ring_worker();
}

}  // namespace troupe
