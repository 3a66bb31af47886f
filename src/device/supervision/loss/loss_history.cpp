#include "device/supervision/loss/loss_history.hpp"

#include <algorithm>

namespace troupe {

std::optional<int> loss_history::note(time_point at, cost of, std::int32_t budget, bool calm) {
  if (calm) {
    for (loss& one : losses_)
      one.calmed = true;
  }
  if (of == cost::one && is_spent(at, budget)) return std::nullopt;
  const int spent_before = spent(at);
  const auto in_a_row = static_cast<int>(std::ranges::count_if(
      losses_, [&](const loss& one) { return !one.calmed && is_within(one, at); }));
  losses_.push_back({.at = at, .of = of});
  return of == cost::one ? std::max(spent_before, in_a_row) : in_a_row;
}

void loss_history::refund(time_point at) noexcept {
  const auto found = std::ranges::find_if(
      losses_, [&](const loss& one) { return one.at == at && one.of == cost::one; });
  if (found != losses_.end()) found->of = cost::none;
}

int loss_history::spent(time_point now) {
  std::erase_if(losses_, [&](const loss& one) {
    return !is_within(one, now) && (one.calmed || one.of == cost::none);
  });
  return static_cast<int>(std::ranges::count_if(
      losses_, [&](const loss& one) { return one.of == cost::one && is_within(one, now); }));
}

loss_history::tally loss_history::counted(time_point now) {
  (void)spent(now);
  const auto first = std::ranges::find(losses_, cost::one, &loss::of);
  if (first == losses_.end()) return {};
  return {.losses = static_cast<int>(std::ranges::count(losses_, cost::one, &loss::of)),
          .since_the_first = now - first->at};
}

bool loss_history::is_spent(time_point now, std::int32_t budget) {
  if (spent(now) >= budget) return true;
  constexpr std::int32_t several = 3;
  const auto counts = [](const loss& one) { return one.of == cost::one && !one.calmed; };
  const auto first = std::ranges::find_if(losses_, counts);
  return first != losses_.end() && !is_within(*first, now) &&
         std::ranges::count_if(losses_, counts) >= std::min(budget, several);
}

}  // namespace troupe
