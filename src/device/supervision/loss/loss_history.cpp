#include "device/supervision/loss/loss_history.hpp"

#include <algorithm>

namespace troupe {

std::optional<int> loss_history::note(time_point at, cost of, std::int32_t budget, bool calm) {
  const int spent_before = spent(at);
  if (of == cost::one && spent_before >= budget) return std::nullopt;
  if (calm) {
    for (loss& one : losses_)
      one.calmed = true;
  }
  const auto in_a_row = static_cast<int>(std::ranges::count(losses_, false, &loss::calmed));
  losses_.push_back({.at = at, .of = of});
  return of == cost::one ? std::max(spent_before, in_a_row) : in_a_row;
}

void loss_history::refund(time_point at) noexcept {
  const auto found = std::ranges::find_if(
      losses_, [&](const loss& one) { return one.at == at && one.of == cost::one; });
  if (found != losses_.end()) found->of = cost::none;
}

int loss_history::spent(time_point now) {
  while (!losses_.empty() && now - losses_.front().at > window_)
    losses_.pop_front();
  return static_cast<int>(std::ranges::count(losses_, cost::one, &loss::of));
}

}  // namespace troupe
