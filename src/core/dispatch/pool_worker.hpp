#pragma once

#include "base/spin_wait.hpp"
#include "core/dispatch/pool_dispatcher.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace troupe::detail {

/// A thread of the pool. All members but the first four are its own.
struct alignas(64) pool_dispatcher::worker {
  worker(pool_dispatcher& p, bool spare) noexcept : pool(&p), is_spare(spare) {}

  pool_dispatcher* pool;
  const bool is_spare;
  std::atomic<actor_cell*> next{nullptr};  ///< any thread may take it; seq_cst: see the class
  std::atomic<std::uint64_t> turns{0};     ///< relaxed: only a hint for thieves
  std::int32_t left = 0;                   ///< messages until it looks at the queue
  int outrun = 0;                          ///< how often in a row helping threads were faster
  spin_budget budget;
  std::chrono::microseconds watch = shortest_watch;  ///< until it checks the others' slots again
  // The state of another worker's slot at its last look.
  std::size_t looked_at = 0;
  std::uint64_t turn_seen = 0;
  std::thread thread;

  static constexpr std::chrono::microseconds shortest_watch{50};
  static constexpr std::chrono::microseconds longest_watch{250};
};

}  // namespace troupe::detail
