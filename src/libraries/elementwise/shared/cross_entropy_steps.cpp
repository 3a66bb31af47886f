#include "libraries/elementwise/shared/parametric.hpp"
#include "libraries/elementwise/shared/steps.hpp"
#include "libraries/elementwise/shared/views.hpp"

#include <limits>
#include <numeric>
#include <utility>

namespace troupe::elementwise {
namespace {

/// A variant of a function. Its parameters are, with smoothing, the shares of the target and of
/// each class, and last the target that is ignored.
struct loss_variant {
  bool smoothed = false;  ///< without smoothing, a logit of −∞ must not be multiplied by it
  bool weighted = false;  ///< the next input is the weights
  bool averaged = false;  ///< and the last one the total

  template <class F>
  [[nodiscard]] parametric with_inputs(int inputs, F f) const {
    return parametric({.inputs = inputs + (weighted ? 1 : 0) + (averaged ? 1 : 0),
                       .reals = smoothed ? 2 : 0,
                       .integers = 1},
                      f);
  }
  [[nodiscard]] std::size_t number() const noexcept {
    return (smoothed ? 1U : 0U) | (weighted ? 2U : 0U) | (averaged ? 4U : 0U);
  }
};
using loss_functions = functions_by_configuration<parametric, 8>;

/// `of_row` for targets in range, 0 for those that are ignored, NaN for others.
value for_target(const value& target, const value& ignored, const value& of_row) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const value outside = (target < 0) | (target >= row_length());
  return select(target == ignored, 0, select(outside, nan, of_row));
}
value of_target(const value& target, const value& a) {
  return row_sum(select(target == index(0), a, 0));
}

parametric loss_function(const loss_variant& variant) {
  return variant.with_inputs(2, [=](std::span<const value> x, std::span<const value> parameters) {
    const value& target = x[1];
    const value shifted = x[0] - row_max(x[0]);
    const value log_sum = log(row_sum(exp(shifted)));
    const value chosen = of_target(target, shifted);
    value loss = log_sum - chosen;
    if (variant.weighted) {
      const value own = of_target(target, x[2]) * loss;
      loss = own;
      if (variant.smoothed) {
        const value all = log_sum * row_sum(x[2]) - row_sum(x[2] * shifted);
        loss = parameters[0] * own + parameters[1] * all;
      }
    } else if (variant.smoothed) {
      loss = log_sum - parameters[0] * chosen - parameters[1] * row_sum(shifted);
    }
    return for_target(target, parameters.back(), loss);
  });
}

parametric gradient_function(const loss_variant& variant) {
  return variant.with_inputs(3, [=](std::span<const value> x, std::span<const value> parameters) {
    const value& target = x[1];
    const value dloss = variant.averaged ? x[2] / x[variant.weighted ? 4 : 3] : x[2];
    const value e = exp(x[0] - row_max(x[0]));
    const value p = e / row_sum(e);
    const value is_target = target == index(0);
    value slope = select(is_target, p - 1, p);
    if (variant.weighted) {
      const value own = of_target(target, x[3]) * slope;
      slope = own;
      if (variant.smoothed) {
        slope = parameters[0] * own + parameters[1] * (p * row_sum(x[3]) - x[3]);
      }
    } else if (variant.smoothed) {
      const value others = p - parameters[1];
      slope = select(is_target, others - parameters[0], others);
    }
    return for_target(target, parameters.back(), dloss * slope);
  });
}

parametric nll_function(const loss_variant& variant) {
  return variant.with_inputs(2, [=](std::span<const value> x, std::span<const value> parameters) {
    const value own = variant.weighted ? x[2] * x[0] : x[0];
    return for_target(x[1], parameters[0], -of_target(x[1], own));
  });
}

parametric nll_gradient_function(const loss_variant& variant) {
  return variant.with_inputs(2, [=](std::span<const value> x, std::span<const value> parameters) {
    const value& target = x[0];
    const value dloss = variant.averaged ? x[1] / x[variant.weighted ? 3 : 2] : x[1];
    const value own = variant.weighted ? dloss * x[2] : dloss;
    return for_target(target, parameters[0], select(target == index(0), -own, 0));
  });
}

/// Sums up the weights of the targets that count, or their number.
parametric total_function(bool weighted) {
  return parametric({.inputs = weighted ? 2 : 1, .integers = 1},
                    [=](std::span<const value> x, std::span<const value> parameters) {
                      const value counts = x[0] != parameters[0];
                      if (!weighted) return row_sum(cast(counts, dtype::i64));
                      const value is_target = x[0] == index(0);
                      return row_sum(select(counts & is_target, x[1], 0));
                    });
}

template <class R>
function with_options(const R& r, const parametric& what, [[maybe_unused]] std::int64_t classes) {
  if constexpr (requires { r.label_smoothing; }) {
    if (r.label_smoothing != 0) {
      return what.with({1 - r.label_smoothing, r.label_smoothing / static_cast<double>(classes),
                        r.ignore_index});
    }
  }
  return what.with({r.ignore_index});
}

/// The rows of a loss or of its gradient; `wide` has the extents of the classes.
template <class R, class Make>
rows rows_of_loss(const R& r, const any_tensor& wide, const any_tensor& total,
                  std::vector<any_tensor> inputs, const any_tensor& output,
                  loss_functions& functions, Make make) {
  loss_variant variant{.weighted = !r.weights.null(), .averaged = !total.null()};
  if constexpr (requires { r.label_smoothing; }) variant.smoothed = r.label_smoothing != 0;
  const int rank = wide.rank();
  if (variant.weighted) inputs.push_back(along(r.weights, rank - 1, rank));
  if (variant.averaged) inputs.push_back(along(total, 0, rank));
  const parametric& what = functions.get(variant.number(), [&] { return make(variant); });
  return {.inputs = std::move(inputs),
          .outputs = {output},
          .what = with_options(r, what, wide.extent(rank - 1))};
}

/// A loss, then the total and the mean where they are asked for; `x` has the classes.
template <class R, class Make>
steps steps_of_loss(const R& r, const any_tensor& x, loss_functions& functions, Make make) {
  static const parametric count = total_function(false);
  static const parametric sum = total_function(true);
  static const function mean =
      function::of(2, [](std::span<const value> in) { return row_sum(in[0]) / in[1]; });
  const any_tensor targets = with_trailing_ones(r.targets, 1);
  const any_tensor loss = with_trailing_ones(r.loss, 1);
  steps made = {rows_of_loss(r, x, {}, {x, targets}, loss, functions, make)};
  if (r.total.null()) return made;
  const int rank = x.rank();
  std::vector<std::int64_t> all(static_cast<std::size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  rows totals{.inputs = {targets},
              .outputs = {along(r.total, 0, rank)},
              .what = (r.weights.null() ? count : sum).with({r.ignore_index}),
              .axes = all};
  if (!r.weights.null()) totals.inputs.push_back(along(r.weights, rank - 1, rank));
  made.emplace_back(std::move(totals));
  if (r.mean.null()) return made;
  made.emplace_back(rows{.inputs = {loss, along(r.total, 0, rank)},
                         .outputs = {along(r.mean, 0, rank)},
                         .what = mean,
                         .axes = all});
  return made;
}

}  // namespace

steps steps_of(const cross_entropy& r) {
  static loss_functions functions;
  return steps_of_loss(r, r.logits, functions, loss_function);
}
steps steps_of(const nll_loss& r) {
  static loss_functions functions;
  return steps_of_loss(r, r.x, functions, nll_function);
}

steps steps_of(const cross_entropy_backward& r) {
  static loss_functions functions;
  return {rows_of_loss(r, r.dlogits, r.total,
                       {r.logits, with_trailing_ones(r.targets, 1), with_trailing_ones(r.dloss, 1)},
                       r.dlogits, functions, gradient_function)};
}
steps steps_of(const nll_loss_backward& r) {
  static loss_functions functions;
  return {rows_of_loss(r, r.dx, r.total,
                       {with_trailing_ones(r.targets, 1), with_trailing_ones(r.dloss, 1)}, r.dx,
                       functions, nll_gradient_function)};
}

}  // namespace troupe::elementwise
