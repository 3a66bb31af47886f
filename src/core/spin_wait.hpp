#pragma once

#include <sched.h>

#include <chrono>
#include <cstdint>

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

/// Spinning with an end: pauses first, then also gives the processor to others, until the budget
/// is used. Parking at once costs 47 us for a hop between threads where spinning costs 0.2;
/// spinning for ever starves whoever is to produce what is waited for.
class spin_wait {
 public:
  using clock = std::chrono::steady_clock;

  /// `pauses` is how long a step is. Few make what is waited for be seen sooner, and take the cache
  /// line that is looked at from whoever is about to write it more often.
  explicit spin_wait(clock::duration budget, int pauses = pauses_per_yield) noexcept
      : budget_(budget), pauses_(pauses) {}

  /// Spends a little time; false once the budget is used.
  bool step() noexcept {
    ++steps_;
    for (int i = 0; i < pauses_; ++i)
      pause_cpu();
    paused_ += pauses_;
    if (steps_ < steps_without_clock) return true;
    const auto now = clock::now();
    if (steps_ == steps_without_clock) began_ = now;
    const auto used = now - began_;
    if (used > budget_) return false;
    // Whoever is waited for may need this very processor; an answer that takes no longer than this
    // comes from another one.
    if (used > before_yield && paused_ >= pauses_per_yield) {
      paused_ = 0;
      ::sched_yield();
    }
    return true;
  }

 private:
  static constexpr std::chrono::nanoseconds before_yield{2'000};
  static constexpr int pauses_per_yield = 8;
  static constexpr std::uint32_t steps_without_clock = 8;

  clock::duration budget_;
  int pauses_;
  int paused_ = 0;
  clock::time_point began_{};
  std::uint32_t steps_ = 0;
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
