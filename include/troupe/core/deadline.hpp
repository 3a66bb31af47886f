#pragma once

#include <chrono>

namespace troupe::detail {

/// `after` later than `from`, which is not before the clock's epoch; the last moment there is where
/// that would lie beyond it, which is never.
[[nodiscard]] constexpr std::chrono::steady_clock::time_point deadline_after(
    std::chrono::steady_clock::time_point from, std::chrono::nanoseconds after) noexcept {
  using time_point = std::chrono::steady_clock::time_point;
  return after > time_point::max() - from ? time_point::max() : from + after;
}

}  // namespace troupe::detail
