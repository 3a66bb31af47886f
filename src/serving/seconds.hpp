#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace troupe::serving {

/// At most 11 days, so that many of them can be added.
[[nodiscard]] inline std::chrono::nanoseconds from_seconds(double s) noexcept {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::clamp(s, -1e6, 1e6) * 1e9));
}
[[nodiscard]] inline double in_seconds(std::chrono::nanoseconds t) noexcept {
  return static_cast<double>(t.count()) * 1e-9;
}

}  // namespace troupe::serving
