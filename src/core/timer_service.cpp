#include "core/ambient.hpp"
#include "core/timer_heap.hpp"
#include "os/fork_count.hpp"

#include <troupe/core/timer_service.hpp>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

namespace troupe {

timer_service::~timer_service() = default;

namespace {

// Lives as long as the process: its thread starts with the first alarm and is never joined, so
// that nothing has to be destroyed in the right order while a process exits.
class process_timers final : public timer_service {
 public:
  time_point now() const noexcept override { return std::chrono::steady_clock::now(); }

  timer_id add(time_point when, unique_function<void()> expire) override {
    const std::lock_guard lock(mutex_);
    if (runs_in_ != os::fork_count()) {
      std::thread([this] { serve(); }).detach();
      runs_in_ = os::fork_count();
    }
    const bool earlier = !heap_.next() || when < *heap_.next();
    const timer_id id = heap_.add(when, std::move(expire));
    if (earlier) changed_.notify_one();
    return id;
  }

  void cancel(timer_id id) noexcept override {
    unique_function<void()> destroyed_unlocked;
    const std::lock_guard lock(mutex_);
    destroyed_unlocked = heap_.cancel(id);
  }

 private:
  [[noreturn]] void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (auto expire = heap_.take_due(now())) {
        lock.unlock();
        expire();
        expire = {};
        lock.lock();
      } else if (const auto next = heap_.next()) {
        changed_.wait_until(lock, *next);
      } else {
        changed_.wait(lock);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  detail::timer_heap heap_;
  std::optional<std::uint32_t> runs_in_;  // a forked process has no thread of the one before
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
