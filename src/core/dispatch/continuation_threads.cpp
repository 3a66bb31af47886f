#include "core/dispatch/continuation_threads.hpp"

#include "os/thread.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <system_error>

namespace troupe::detail {

continuation_threads& continuation_threads::of_process() {
  static auto& threads = *new continuation_threads;
  return threads;
}

continuation_threads::continuation_threads() {
  only_one = this;
  // A forked process has none of the threads, and finds the rest in a consistent state.
  ::pthread_atfork([] { only_one->mutex_.lock(); }, [] { only_one->mutex_.unlock(); },
                   [] {
                     only_one->awake_ = 0;
                     only_one->mutex_.unlock();
                   });
}

bool continuation_threads::take(continuation_queue& given) noexcept {
  const std::lock_guard lock(mutex_);
  if (awake_ == 0 && !start_thread()) return false;
  waiting_.append(std::move(given));
  return true;
}

// With the lock.
bool continuation_threads::start_thread() noexcept {
  try {
    os::start_thread([this] { serve(); }).detach();
  } catch (const std::system_error&) {
    return false;
  }
  ++awake_;
  return true;
}

void continuation_threads::serve() noexcept {
  ::prctl(PR_SET_NAME, "troupe-later");
  deferred_continuations& duties = deferred_continuations::mine();
  duties.work_with(this);
  std::unique_lock lock(mutex_);
  while (!waiting_.empty()) {
    continuation_queue mine = std::move(waiting_);
    lock.unlock();
    duties.run(std::move(mine));
    lock.lock();
  }
  --awake_;
}

void continuation_threads::thread_sleeps() noexcept {
  const std::lock_guard lock(mutex_);
  --awake_;
  // If none can be started, the others wait until this one is awake again.
  if (awake_ == 0 && !waiting_.empty()) start_thread();
}

void continuation_threads::thread_wakes() noexcept {
  const std::lock_guard lock(mutex_);
  ++awake_;
}

}  // namespace troupe::detail
