#pragma once

#include <troupe/core/supervision.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

namespace troupe {

/// The workers that a device has lost lately, and the consequences: whether there may be another
/// one, and how many waits precede it.
///
/// A loss without a culprit or a failed start costs budget. A loss with a culprit, or by an outside
/// cause, costs none. Both kinds are followed by longer and longer waits if they repeat.
///
/// The budget counts within a window of time. Failures can be too slow to spend it, such as starts
/// that time out. So an unbroken series of failures also ends the device once it has lasted longer
/// than the window.
class loss_history {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit loss_history(std::chrono::nanoseconds window) noexcept : window_(window) {}

  enum class cost : bool { none, one };

  /// Records a loss. `calm`: there has been good service since the previous one.
  /// \returns how many earlier losses delay its replacement; nothing if it costs more than `budget`
  /// has left, and there is no replacement
  [[nodiscard]] std::optional<int> note(time_point at, cost of, std::int32_t budget, bool calm);
  /// A recorded loss has turned out to cost no budget.
  void refund(time_point at) noexcept;

  /// Starts over, with the whole budget.
  void clear() noexcept { losses_.clear(); }

  /// How many within the window cost budget.
  [[nodiscard]] int spent(time_point now);
  /// These and the series before them, for a message.
  struct tally {
    int losses = 0;
    std::chrono::nanoseconds since_the_first{0};
  };
  [[nodiscard]] tally counted(time_point now);
  /// True if a loss that costs budget would now be the last one.
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
  std::deque<loss> losses_;  // within the window, and the costly ones since the last good service
};

}  // namespace troupe
