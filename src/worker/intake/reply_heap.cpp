#include "worker/intake/reply_heap.hpp"

#include "os/shared_memory.hpp"

#include <sys/mman.h>

namespace troupe::worker {

namespace {

constexpr std::size_t all_units = wire::reply_heap_bytes / wire::heap_unit;

// Returns the memory of a long reply to the system once it has been read.
void free_pages(std::byte* begin, std::byte* end) noexcept {
  constexpr std::ptrdiff_t worth_a_call = std::ptrdiff_t{1} << 20;
  if (end - begin < worth_a_call) return;
  const auto page = static_cast<std::uintptr_t>(os::page_bytes());
  const auto first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const auto last = reinterpret_cast<std::uintptr_t>(end) / page * page;
  (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_REMOVE);
}

}  // namespace

reply_heap::piece reply_heap::take(std::uint16_t slot, std::size_t bytes) {
  release(slot);
  if (bytes > wire::reply_heap_bytes) return {};
  const std::size_t units = (bytes + wire::heap_unit - 1) / wire::heap_unit;
  const std::scoped_lock lock(mutex_);
  auto begin = gap_of(units);
  if (!begin) {
    free_copied();
    begin = gap_of(units);
  }
  if (!begin) return {};
  by_slot_.emplace(slot, *begin);
  used_.emplace(*begin, *begin + units);
  held_.store(by_slot_.size(), std::memory_order_relaxed);
  return {.bytes = {base_ + *begin * wire::heap_unit, bytes},
          .place = static_cast<std::uint32_t>(*begin + 1)};
}

std::optional<std::size_t> reply_heap::gap_of(std::size_t units) const noexcept {
  std::size_t begin = 0;
  for (const auto& [first, last] : used_) {
    if (first - begin >= units) return begin;
    begin = last;
  }
  if (all_units - begin < units) return std::nullopt;
  return begin;
}

void reply_heap::free_piece(std::size_t begin) noexcept {
  const auto found = used_.find(begin);
  free_pages(base_ + begin * wire::heap_unit, base_ + found->second * wire::heap_unit);
  used_.erase(found);
}

void reply_heap::free_copied() noexcept {
  const auto* const slots =
      reinterpret_cast<const std::byte*>(mailbox_) + mailbox_->geometry.slots_offset;
  std::erase_if(by_slot_, [&](const auto& one) {
    const auto& header =
        *reinterpret_cast<const wire::slot_header*>(slots + one.first * wire::slot_bytes);
    // Acquire: the program has finished its copy before this memory is written again.
    if (header.held.load(std::memory_order_acquire) != wire::hold::reply_copied) return false;
    free_piece(one.second);
    return true;
  });
  held_.store(by_slot_.size(), std::memory_order_relaxed);
}

void reply_heap::let_go(std::uint16_t slot) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = by_slot_.find(slot);
  if (found == by_slot_.end()) return;
  free_piece(found->second);
  by_slot_.erase(found);
  held_.store(by_slot_.size(), std::memory_order_relaxed);
}

}  // namespace troupe::worker
