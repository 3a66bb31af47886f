#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

namespace troupe::bench {

/// Work that another thread does on request, through one cache line and with both spinning: the
/// least possible cost of any work by a worker. Interruptions of either thread show in its times.
/// While there is no request, the thread sleeps.
class second_thread {
 public:
  explicit second_thread(std::function<void()> work) : work_(std::move(work)) {}
  ~second_thread() {
    asked_.store(ends, std::memory_order_release);
    asked_.notify_one();
  }
  second_thread(const second_thread&) = delete;
  second_thread& operator=(const second_thread&) = delete;

  /// Has the work done once and waits for it. By one thread.
  void operator()() {
    const std::uint64_t number = asked_.load(std::memory_order_relaxed) + 1;
    asked_.store(number, std::memory_order_release);
    asked_.notify_one();
    while (done_.load(std::memory_order_acquire) != number)
      __builtin_ia32_pause();
  }

 private:
  static constexpr std::uint64_t ends = ~std::uint64_t{0};
  static constexpr int timeout = 5'000;  // pauses, longer than from one run to the next

  void serve() {
    for (std::uint64_t seen = 0;;) {
      for (int i = 0; i < timeout && asked_.load(std::memory_order_acquire) == seen; ++i)
        __builtin_ia32_pause();
      asked_.wait(seen, std::memory_order_acquire);
      seen = asked_.load(std::memory_order_acquire);
      if (seen == ends) return;
      work_();
      done_.store(seen, std::memory_order_release);
    }
  }

  std::function<void()> work_;
  alignas(64) std::atomic<std::uint64_t> asked_{0};
  alignas(64) std::atomic<std::uint64_t> done_{0};
  alignas(64) std::jthread thread_{[this] { serve(); }};
};

}  // namespace troupe::bench
