#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace troupe::cpu {

/// How many threads share `work` units, of which each thread should have `least`, in `tasks` tasks.
[[nodiscard]] inline std::int64_t threads_for(std::int64_t tasks, std::int64_t work,
                                              std::int64_t least) noexcept {
  const auto processors = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  return std::clamp<std::int64_t>(std::min(work / least, tasks), 1,
                                  std::max<std::int64_t>(processors, 1));
}

/// Calls `run(thread, task)` for each of `tasks` tasks, on `threads` threads of which this one is
/// number 0. If a thread cannot be started, the others do its part.
template <class Run>
void share_out(std::int64_t threads, std::int64_t tasks, Run run) {
  // Each task is taken once; what tasks write is seen by the caller once the threads are joined.
  std::atomic<std::int64_t> next{0};
  const auto take_tasks = [&](std::int64_t thread) {
    for (std::int64_t t = next.fetch_add(1, std::memory_order_relaxed); t < tasks;
         t = next.fetch_add(1, std::memory_order_relaxed))
      run(thread, t);
  };
  std::vector<std::jthread> others;
  for (std::int64_t thread = 1; thread < threads; ++thread) {
    try {
      others.emplace_back(take_tasks, thread);
    } catch (const std::system_error&) {
      break;
    }
  }
  take_tasks(0);
}

}  // namespace troupe::cpu
