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

}  // namespace troupe::wire
