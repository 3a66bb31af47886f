#pragma once

#include <troupe/core/supervision.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

namespace troupe {

/// The workers that a device has lost lately, and what follows from that: whether there may be
/// another one, and how many waits it comes after.
///
/// What nobody can be named for costs budget: a loss without a culprit, a start that failed. What a
/// request is named for, and what somebody else has done, costs none. Both are followed by longer
/// and longer waits where they repeat.
///
/// The budget is for a window of time. Failures can be too slow to spend it, as starts that time
/// out are; so several in a row with nothing good in between are the end, too, once they have gone
/// on for longer than the window.
class loss_history {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit loss_history(std::chrono::nanoseconds window) noexcept : window_(window) {}

  enum class cost : bool { none, one };

  /// Puts a loss down. `calm`: there has been good service since the one before.
  /// \returns how many earlier ones its replacement has to wait for; nothing where it costs more
  /// than `budget` has left, and there is to be no replacement
  [[nodiscard]] std::optional<int> note(time_point at, cost of, std::int32_t budget, bool calm);
  /// One that was put down has turned out to cost none.
  void refund(time_point at) noexcept;

  /// Begins anew, with the whole budget.
  void clear() noexcept { losses_.clear(); }

  /// How many cost budget and are within the window.
  [[nodiscard]] int spent(time_point now);
  /// Those and the ones in a row before them, for a message.
  struct tally {
    int losses = 0;
    std::chrono::nanoseconds since_the_first{0};
  };
  [[nodiscard]] tally counted(time_point now);
  /// True where one that costs budget would be the last one now.
  [[nodiscard]] bool is_spent(time_point now, std::int32_t budget);

 private:
  struct loss {
    time_point at;
    cost of{};
    bool calmed = false;  // there has been good service since
  };
  [[nodiscard]] bool is_within(const loss& one, time_point now) const noexcept {
    return now - one.at <= window_;
  }

  const std::chrono::nanoseconds window_;
  std::deque<loss> losses_;  // within the window, and those that cost and are not calmed
};

}  // namespace troupe
