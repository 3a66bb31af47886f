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

/// Spinning with an end: pauses, and now and then gives the processor to others, until the budget
/// is used. Parking at once costs 47 us for a hop between threads where spinning costs 0.2;
/// spinning for ever starves whoever is to produce what is waited for.
class spin_wait {
 public:
  using clock = std::chrono::steady_clock;

  /// `pauses` is how long a step is. Few make what is waited for be seen sooner, and take the cache
  /// line that is looked at from whoever is about to write it more often.
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
  // Alone on its processor a thread is back from the call after a microsecond or so.
  static constexpr clock::duration alone = std::chrono::microseconds(3);
  static constexpr int pauses_per_look = 8;  // at the clock, which takes as long as some of them
  static constexpr std::uint32_t steps_without_clock = 8;

  clock::duration budget_;
  int pauses_;
  int paused_ = 0;
  std::uint32_t steps_ = 0;
  clock::duration next_yield_{};  // since `began_`
  clock::time_point began_{};

  // Whoever is waited for may need this very processor: the kernel puts both there now and then,
  // and each gets on when the other one yields. So that must be soon there; and seldom elsewhere,
  // since the call takes longer than a hop between processes, and what comes meanwhile is seen
  // late. How long the last call took tells the two apart.
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

/// Waiting for a thread that is a few instructions away from what is waited for, and may have lost
/// its processor. Under real-time scheduling to yield never lets one of lower priority run: so this
/// sleeps after some rounds.
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

/// How long this thread should spin before it parks: long while that pays, short while it does not.
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
