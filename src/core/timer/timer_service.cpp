#include "core/ambient.hpp"
#include "core/dispatch/deferred_continuations.hpp"
#include "core/timer/timer_heap.hpp"
#include "os/fork_count.hpp"
#include "os/futex.hpp"
#include "os/thread.hpp"

#include <troupe/base/error.hpp>
#include <troupe/core/timer_service.hpp>

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace troupe {

timer_service::~timer_service() = default;
void timer_service::start() {}

namespace {

// Lives as long as the process: its thread starts with the first system or alarm and is never
// joined, so that the order of destruction at process exit does not matter.
class process_timers final : public timer_service {
 public:
  process_timers() {
    only_one = this;
    // A forked process gets them in a consistent state.
    ::pthread_atfork([] { only_one->mutex_.lock(); }, [] { only_one->mutex_.unlock(); },
                     [] { only_one->mutex_.unlock(); });
  }

  time_point now() const noexcept override { return std::chrono::steady_clock::now(); }

  void start() override {
    const std::lock_guard lock(mutex_);
    start_thread();
  }

  timer_id add(time_point when, unique_function<void()> expire) override {
    const std::lock_guard lock(mutex_);
    start_thread();
    const timer_id id = heap_.add(when, std::move(expire));
    if (when < sleeps_until_) {
      sleeps_until_ = awake;
      changes_.fetch_add(1, std::memory_order_relaxed);
      os::futex_wake(changes_, 1, os::sharing::program);
    }
    return id;
  }

  void cancel(timer_id id) noexcept override {
    unique_function<void()> destroyed_unlocked;
    const std::lock_guard lock(mutex_);
    destroyed_unlocked = heap_.cancel(id);
  }

 private:
  void start_thread() {
    if (runs_in_ == os::fork_count()) return;
    try {
      os::start_thread([this] { serve(); }).detach();
    } catch (const std::system_error& none) {
      throw failure(system_failure("pthread_create", none.code().value(),
                                   "the thread that rings all timers cannot be started"));
    }
    runs_in_ = os::fork_count();
  }

  // Completions of alarms, above all of time limits, continue on another thread: the continuation
  // is the program's code and may take long, and no other alarm may be late because of it.
  [[noreturn]] void serve() {
    detail::deferred_continuations& duties = detail::deferred_continuations::mine();
    duties.hold();
    std::unique_lock lock(mutex_);
    for (;;) {
      if (auto expire = heap_.take_due(now())) {
        lock.unlock();
        expire();
        expire = {};
        if (duties.has_put_off() && !duties.give_away()) {
          duties.release();
          duties.hold();
        }
        lock.lock();
      } else {
        const time_point next = heap_.next().value_or(time_point::max());
        const std::uint32_t seen = changes_.load(std::memory_order_relaxed);
        sleeps_until_ = next;
        lock.unlock();
        os::futex_wait(changes_, seen, next, os::sharing::program);
        lock.lock();
        sleeps_until_ = awake;
      }
    }
  }

  static inline process_timers* only_one = nullptr;

  std::mutex mutex_;
  /// The time until which the thread sleeps, perhaps for an alarm that was cancelled since: most
  /// time limits are cancelled, and waking the thread for each would take longer than the rest of
  /// an ask.
  static constexpr time_point awake = time_point::min();
  time_point sleeps_until_ = awake;
  /// Counts the alarms that it was woken for; written under the lock, and the thread's futex word.
  /// A condition variable in a forked process would count a sleeping thread of the parent.
  std::atomic<std::uint32_t> changes_{0};
  detail::timer_heap heap_;
  std::optional<std::uint32_t> runs_in_;  // a forked process lacks the parent's thread
};

}  // namespace

std::shared_ptr<timer_service> timer_service::of_process() {
  static const auto& service = *new std::shared_ptr<timer_service>(new process_timers);
  return service;
}

std::shared_ptr<timer_service> timer_service::current() {
  if (detail::ambient.timers != nullptr) return *detail::ambient.timers;
  return of_process();
}

}  // namespace troupe
