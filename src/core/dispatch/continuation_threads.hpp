#pragma once

#include "core/dispatch/continuation_queue.hpp"
#include "core/dispatch/deferred_continuations.hpp"

#include <mutex>

namespace troupe::detail {

/// Where continuations run that the thread which came to them must not run: the one of all timers,
/// whose alarms would be late, and one that waits so deep in others that its stack would end.
///
/// One thread runs them, in order, and ends when there are none; while it sleeps in one of them,
/// until a future is ready, another one takes its place.
class continuation_threads final : private stand_in {
 public:
  /// Never destroyed, so that nothing has to be in the right order while a process exits.
  [[nodiscard]] static continuation_threads& of_process();

  /// Takes all; none, and false, where there is no thread and none can be started.
  bool take(continuation_queue& given) noexcept;

 private:
  continuation_threads();
  bool start_thread() noexcept;
  void serve() noexcept;
  void thread_sleeps() noexcept override;
  void thread_wakes() noexcept override;

  static inline continuation_threads* only_one = nullptr;

  std::mutex mutex_;  ///< guards what follows
  continuation_queue waiting_;
  int awake_ = 0;  ///< threads that do not sleep in a continuation
};

}  // namespace troupe::detail
