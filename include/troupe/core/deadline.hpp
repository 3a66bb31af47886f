#pragma once

#include <chrono>

namespace troupe::detail {

/// `from + after`, saturated at `time_point::max()`, which means never. `from` must not be before
/// the clock's epoch.
[[nodiscard]] constexpr std::chrono::steady_clock::time_point deadline_after(
    std::chrono::steady_clock::time_point from, std::chrono::nanoseconds after) noexcept {
  using time_point = std::chrono::steady_clock::time_point;
  return after > time_point::max() - from ? time_point::max() : from + after;
}

}  // namespace troupe::detail
