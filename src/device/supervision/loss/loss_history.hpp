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
class loss_history {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit loss_history(std::chrono::nanoseconds window) noexcept : window_(window) {}

  enum class cost : bool { none, one };

  /// Puts a loss down. `calm`: a request has ended well since the one before.
  /// \returns how many earlier ones its replacement has to wait for; nothing where it costs more
  /// than `budget` has left, and there is to be no replacement
  [[nodiscard]] std::optional<int> note(time_point at, cost of, std::int32_t budget, bool calm);
  /// One that was put down has turned out to cost none.
  void refund(time_point at) noexcept;

  /// Begins anew, with the whole budget.
  void clear() noexcept { losses_.clear(); }

  /// How many cost budget and are within the window.
  [[nodiscard]] int spent(time_point now);

 private:
  struct loss {
    time_point at;
    cost of{};
    bool calmed = false;  // a request has ended well since
  };

  const std::chrono::nanoseconds window_;
  std::deque<loss> losses_;  // within the window
};

}  // namespace troupe
