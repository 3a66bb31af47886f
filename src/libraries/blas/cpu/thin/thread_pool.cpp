#include "libraries/blas/cpu/thin/thread_pool.hpp"

#include <csignal>
#include <system_error>

namespace troupe::cpu {
namespace {

// Some microseconds: products follow each other.
constexpr int spins = 4000;

void pause_briefly() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

thread_pool::~thread_pool() {
  ending_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& one : threads_)
    one.join();
}

void thread_pool::start() {
  started_ = true;
  // Signals are the program's own threads'.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const unsigned count = std::thread::hardware_concurrency();
  for (unsigned i = 1; i < count; ++i) {
    try {
      threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
      break;
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void thread_pool::run(std::int64_t tasks, call of, void* data) {
  const std::unique_lock lock(one_call_, std::try_to_lock);
  if (lock && !started_ && tasks > 1) start();
  if (!lock || tasks < 2 || threads_.empty()) {
    for (std::int64_t task = 0; task < tasks; ++task)
      of(data, task);
    return;
  }
  call_ = of;
  data_ = data;
  tasks_ = tasks;
  next_.store(0, std::memory_order_relaxed);
  active_.store(static_cast<std::int64_t>(threads_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  take();
  for (int i = 0; active_.load(std::memory_order_acquire) != 0; ++i) {
    if (i < spins) {
      pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
}

void thread_pool::take() {
  for (std::int64_t task = next_.fetch_add(1, std::memory_order_relaxed); task < tasks_;
       task = next_.fetch_add(1, std::memory_order_relaxed))
    call_(data_, task);
}

void thread_pool::serve() {
  std::uint32_t seen = 0;
  for (;;) {
    std::uint32_t now = round_.load(std::memory_order_acquire);
    for (int i = 0; now == seen && i < spins; ++i) {
      pause_briefly();
      now = round_.load(std::memory_order_acquire);
    }
    while (now == seen) {
      round_.wait(seen, std::memory_order_acquire);
      now = round_.load(std::memory_order_acquire);
    }
    seen = now;
    if (ending_.load(std::memory_order_relaxed)) return;
    take();
    active_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace troupe::cpu
