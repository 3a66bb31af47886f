#pragma once

#include "os/futex.hpp"
#include "wire/world_words.hpp"

#include <limits>

namespace troupe::wire {

/// Wakes a rank that sleeps. Call after a store that it may wait for.
inline void ring(world_page::bell& bell) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (bell.asleep.load(std::memory_order_relaxed) == 0) return;
  bell.rung.fetch_add(1, std::memory_order_release);
  os::futex_wake(bell.rung, std::numeric_limits<int>::max(), os::sharing::processes);
}

/// Marks a connection as broken, and tells the workers that have parts of it.
inline void break_connection(world_page& page, std::uint64_t number) noexcept {
  for (world_page::drop_word& word : page.dropped) {
    std::uint64_t known = word.broken.load(std::memory_order_relaxed);
    while (known < number &&
           !word.broken.compare_exchange_weak(known, number, std::memory_order_release,
                                              std::memory_order_relaxed)) {
    }
  }
  for (world_page::bell& bell : page.bells)
    ring(bell);
}

[[nodiscard]] inline bool is_broken(const world_page& page, std::uint64_t number) noexcept {
  return page.dropped[0].broken.load(std::memory_order_acquire) >= number;
}

}  // namespace troupe::wire
