#pragma once

#include <troupe/core/supervision.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace troupe::detail {

/// The delay of the `nth` restart, from 1. `chance`: within -1 and 1.
[[nodiscard]] inline std::chrono::nanoseconds wait_before(const backoff& b, std::int64_t nth,
                                                          double chance) {
  // Zero stays zero, however often doubled; the power may become infinite.
  if (b.initial.count() <= 0) return {};
  const double power = std::pow(b.factor, static_cast<double>(std::max<std::int64_t>(nth, 1) - 1));
  const double full = std::min(static_cast<double>(b.initial.count()) * power,
                               static_cast<double>(b.longest.count()));
  // Far beyond any restart, and within the range of a duration.
  constexpr double most = 1e18;
  return std::chrono::nanoseconds(
      static_cast<std::int64_t>(std::clamp(full * (1 + b.jitter * chance), 0.0, most)));
}

}  // namespace troupe::detail
