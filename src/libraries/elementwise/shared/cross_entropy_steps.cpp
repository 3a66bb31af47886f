#include "libraries/elementwise/shared/parametric.hpp"
#include "libraries/elementwise/shared/steps.hpp"
#include "libraries/elementwise/shared/views.hpp"

#include <limits>

namespace troupe::elementwise {
namespace {

// Without smoothing, a logit of −∞ must not be multiplied by it.
constexpr parametric::counts sources(int inputs, bool smoothed) noexcept {
  return {.inputs = inputs, .reals = smoothed ? 2 : 0, .integers = 1};
}

/// `of_row` for targets in range, 0 for those that are ignored, NaN for others.
value for_target(const value& target, const value& ignored, const value& of_row) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const value outside = (target < 0) | (target >= row_length());
  return select(target == ignored, 0, select(outside, nan, of_row));
}

parametric loss_function(bool smoothed) {
  return parametric(
      sources(2, smoothed), [=](std::span<const value> x, std::span<const value> parameters) {
        const value& target = x[1];
        const value shifted = x[0] - row_max(x[0]);
        const value log_sum = log(row_sum(exp(shifted)));
        const value chosen = row_sum(select(target == index(0), shifted, 0));
        if (!smoothed) return for_target(target, parameters[0], log_sum - chosen);
        return for_target(target, parameters[2],
                          log_sum - parameters[0] * chosen - parameters[1] * row_sum(shifted));
      });
}

parametric gradient_function(bool smoothed) {
  return parametric(
      sources(3, smoothed), [=](std::span<const value> x, std::span<const value> parameters) {
        const value& target = x[1];
        const value& dloss = x[2];
        const value e = exp(x[0] - row_max(x[0]));
        const value p = e / row_sum(e);
        const value is_target = target == index(0);
        if (!smoothed) {
          return for_target(target, parameters[0], dloss * select(is_target, p - 1, p));
        }
        const value others = p - parameters[1];
        return for_target(target, parameters[2],
                          dloss * select(is_target, others - parameters[0], others));
      });
}

template <class R>
function with_options(const R& r, const parametric& plain, const parametric& smoothed) {
  if (r.label_smoothing == 0) return plain.with({r.ignore_index});
  const auto classes = static_cast<double>(r.logits.extent(r.logits.rank() - 1));
  return smoothed.with({1 - r.label_smoothing, r.label_smoothing / classes, r.ignore_index});
}

}  // namespace

steps steps_of(const cross_entropy& r) {
  static const parametric plain = loss_function(false);
  static const parametric smoothed = loss_function(true);
  return {rows{.inputs = {r.logits, with_trailing_ones(r.targets, 1)},
               .outputs = {with_trailing_ones(r.loss, 1)},
               .what = with_options(r, plain, smoothed)}};
}

steps steps_of(const cross_entropy_backward& r) {
  static const parametric plain = gradient_function(false);
  static const parametric smoothed = gradient_function(true);
  return {
      rows{.inputs = {r.logits, with_trailing_ones(r.targets, 1), with_trailing_ones(r.dloss, 1)},
           .outputs = {r.dlogits},
           .what = with_options(r, plain, smoothed)}};
}

}  // namespace troupe::elementwise
