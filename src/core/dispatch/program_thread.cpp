#include "core/dispatch/program_thread.hpp"

#include "os/thread.hpp"

#include <troupe/base/error.hpp>
#include <troupe/core/future.hpp>

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace troupe::detail {

result<std::shared_ptr<program_thread>> program_thread::start() {
  const std::shared_ptr<program_thread> made(new program_thread);
  try {
    made->thread_ = os::start_thread([made] { made->serve(); });
  } catch (const std::system_error& none) {
    return system_failure("pthread_create", none.code().value(),
                          "the thread that runs continuations cannot be started");
  }
  return made;
}

void program_thread::run_soon(continuation_queue more) {
  if (more.empty()) return;
  const std::lock_guard lock(mutex_);
  next_.append(std::move(more));
  changed_.notify_one();
}

continuation_queue program_thread::take() noexcept {
  const std::lock_guard lock(mutex_);
  return std::move(next_);
}

void program_thread::serve() noexcept {
  ::prctl(PR_SET_NAME, "troupe-continue");
  deferred_continuations& duties = deferred_continuations::mine();
  duties.wait_by(this);
  duties_.store(&duties, std::memory_order_relaxed);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !next_.empty() || ending_; });
    if (next_.empty()) break;
    continuation_queue now = std::move(next_);
    lock.unlock();
    duties.run(std::move(now));
    lock.lock();
  }
  ended_ = true;
  duties.wait_by(nullptr);
  duties_.store(nullptr, std::memory_order_relaxed);
}

void program_thread::wait_until(const future_state_base* state,
                                future_state_base::time_point deadline) noexcept {
  using clock = std::chrono::steady_clock;
  // There is no single wake-up for both the awaited state and new continuations.
  constexpr auto look = std::chrono::milliseconds(1);
  ++waits_;
  while (state == nullptr || !state->ready()) {
    if (continuation_queue come = take(); !come.empty()) {
      deferred_continuations::mine().run(std::move(come));
      continue;
    }
    const clock::time_point now = clock::now();
    if (now >= deadline) break;
    const clock::time_point next_look = std::min(deadline, now + look);
    if (state == nullptr) {
      std::unique_lock lock(mutex_);
      changed_.wait_until(lock, next_look, [this] { return !next_.empty(); });
    } else if (state->driver() != nullptr) {
      state->driver()->drive_until(*state, next_look);
    } else {
      state->park_until(next_look);
    }
  }
  --waits_;
}

/// Reports when the thread has reached it, and whether a continuation waits above it.
struct program_thread::milestone : continuation {
  explicit milestone(program_thread& on) noexcept : where(on) { run = &reached; }
  static void reached(continuation& self, future_state_base&) noexcept {
    auto& me = static_cast<milestone&>(self);
    promise<bool> done = std::move(me.done);  // setting it may destroy `me`
    done.set_value(me.where.waits_ > 0);
  }

  program_thread& where;
  promise<bool> done;
};

bool program_thread::pass_milestone() {
  milestone here(*this);
  future<bool> waits = here.done.get_future();
  future_state<void> comes_to_none;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return false;
    next_.push(here, comes_to_none);
    changed_.notify_one();
  }
  return waits.get();
}

void program_thread::settle() { (void)pass_milestone(); }

void program_thread::finish() {
  if (!thread_.joinable()) return;
  const bool waits = pass_milestone();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_one();
  }
  if (waits) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

}  // namespace troupe::detail
