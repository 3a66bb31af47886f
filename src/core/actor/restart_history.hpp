#pragma once

#include <troupe/core/supervision.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::detail {

/// The restarts within a budget's sliding window, in order of time. Each is handled twice, however
/// large the budget is: when it is added and when it is too old.
class restart_history {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Counts one more; if the budget is spent, returns false and does not count it.
  bool admit(time_point now, const restart_budget& budget) {
    while (count() > 0 && now - times_[too_old_] > budget.window)
      ++too_old_;
    if (static_cast<std::int64_t>(count()) >= budget.restarts) return false;
    if (too_old_ > times_.size() / 2) {
      times_.erase(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(too_old_));
      too_old_ = 0;
    }
    times_.push_back(now);
    return true;
  }
  [[nodiscard]] std::size_t count() const noexcept { return times_.size() - too_old_; }

 private:
  std::vector<time_point> times_;
  std::size_t too_old_ = 0;  ///< how many at the front
};

}  // namespace troupe::detail
