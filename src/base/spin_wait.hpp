#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace troupe::detail {

inline void pause_cpu() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Bounded spinning: pauses, and now and then yields the processor, until the budget is used.
/// Parking at once costs 47 us for a hop between threads, spinning costs 0.2; spinning for ever
/// starves the thread that must produce the awaited event.
class spin_wait {
 public:
  using clock = std::chrono::steady_clock;

  /// `pauses` is the length of a step. Short steps notice the event sooner, but take the polled
  /// cache line from its writer more often.
  explicit spin_wait(clock::duration budget, int pauses = pauses_per_look) noexcept
      : budget_(budget), pauses_(pauses) {}

  /// Spends a little time; false once the budget is used.
  bool step() noexcept {
    ++steps_;
    for (int i = 0; i < pauses_; ++i)
      pause_cpu();
    paused_ += pauses_;
    if (steps_ < steps_without_clock || paused_ < pauses_per_look) return true;
    paused_ = 0;
    const auto now = clock::now();
    if (began_ == clock::time_point{}) {
      began_ = now;
      next_yield_ = between_yields();
    }
    const auto used = now - began_;
    if (used > budget_) return false;
    if (used > next_yield_) next_yield_ = used + yield(now);
    return true;
  }

 private:
  static constexpr clock::duration soonest_yield = std::chrono::microseconds(2);
  static constexpr clock::duration longest_between_yields = std::chrono::microseconds(16);
  // A thread that is alone on its processor returns from the call after a microsecond or so.
  static constexpr clock::duration alone = std::chrono::microseconds(3);
  static constexpr int pauses_per_look = 8;  // at the clock, which takes as long as some of them
  static constexpr std::uint32_t steps_without_clock = 8;

  clock::duration budget_;
  int pauses_;
  int paused_ = 0;
  std::uint32_t steps_ = 0;
  clock::duration next_yield_{};  // since `began_`
  clock::time_point began_{};

  // The awaited thread may need this very processor: the kernel sometimes puts both there, and each
  // runs when the other one yields. So yield soon in that case; and rarely otherwise, because the
  // call takes longer than a hop between processes, and delays noticing the event. The duration of
  // the last call distinguishes the two cases.
  static clock::duration& between_yields() noexcept {
    static thread_local clock::duration now = soonest_yield;
    return now;
  }
  static clock::duration yield(clock::time_point before) noexcept {
    ::sched_yield();
    clock::duration& next = between_yields();
    next =
        clock::now() - before > alone ? soonest_yield : std::min(2 * next, longest_between_yields);
    return next;
  }
};

/// Waits for a thread that is a few instructions away from the awaited state, and may have lost its
/// processor. Under real-time scheduling yielding never lets a thread of lower priority run: so
/// this sleeps after some rounds.
class yielding_wait {
 public:
  void step() noexcept {
    constexpr int most_yields = 64;
    if (yields_ < most_yields) {
      ++yields_;
      ::sched_yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

 private:
  int yields_ = 0;
};

/// How long this thread should spin before it parks: long while that pays off, short while it does
/// not.
class spin_budget {
 public:
  [[nodiscard]] std::chrono::nanoseconds current() const noexcept { return budget_; }
  void spinning_was_enough() noexcept {
    if (budget_ < longest) budget_ *= 2;
  }
  void spinning_was_in_vain() noexcept {
    if (budget_ > shortest) budget_ /= 2;
  }

 private:
  static constexpr std::chrono::nanoseconds shortest{3'000};
  static constexpr std::chrono::nanoseconds longest{48'000};
  std::chrono::nanoseconds budget_ = longest;
};

}  // namespace troupe::detail
