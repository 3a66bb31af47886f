#pragma once

#include "core/dispatch/continuation_queue.hpp"
#include "core/dispatch/deferred_continuations.hpp"

#include <mutex>

namespace troupe::detail {

/// Runs continuations that the thread which came to them must not run: the timer thread, whose
/// alarms would be late, or a thread in so many nested waits that its stack would overflow.
///
/// One thread runs them, in order, and ends when there are none; while it sleeps in one of them,
/// until a future is ready, another one takes its place.
class continuation_threads final : private stand_in {
 public:
  /// Never destroyed, so that the order of destruction at process exit does not matter.
  [[nodiscard]] static continuation_threads& of_process();

  /// Takes all; or none, returning false, if there is no thread and none can be started.
  bool take(continuation_queue& given) noexcept;

 private:
  continuation_threads();
  bool start_thread() noexcept;
  void serve() noexcept;
  void thread_sleeps() noexcept override;
  void thread_wakes() noexcept override;

  static inline continuation_threads* only_one = nullptr;

  std::mutex mutex_;  ///< guards the following
  continuation_queue waiting_;
  int awake_ = 0;  ///< threads that do not sleep in a continuation
};

}  // namespace troupe::detail
