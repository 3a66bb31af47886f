#include "libraries/elementwise/shared/parametric.hpp"
#include "libraries/elementwise/shared/steps.hpp"
#include "libraries/elementwise/shared/views.hpp"

#include <array>
#include <cstdint>
#include <utility>

namespace troupe::elementwise {
namespace {

using results = std::vector<result_value>;
using axis_list = std::vector<std::int64_t>;

/// Operands of any norm, viewed so that they can be broadcast together. Missing ones are null.
struct norm {
  any_tensor x;
  any_tensor weight;
  any_tensor bias;
  any_tensor y;
  any_tensor mean;
  any_tensor rstd;
  axis_list axes;  ///< that are normalised together
  double eps;
  bool centered;  ///< the mean is subtracted
};
struct norm_gradient {
  any_tensor x;
  any_tensor dy;
  any_tensor mean;  ///< null where it is not subtracted
  any_tensor rstd;
  any_tensor weight;
  any_tensor dx;
  any_tensor dweight;
  any_tensor dbias;
  axis_list axes;
  axis_list others;  ///< that gradients of weight and bias are summed along
};

/// Takes a function's inputs one after the other.
class input_reader {
 public:
  explicit input_reader(std::span<const value> all) noexcept : all_(all) {}
  [[nodiscard]] value next() noexcept { return all_[used_++]; }

 private:
  std::span<const value> all_;
  std::size_t used_ = 0;
};

value row_mean(const value& a) { return row_sum(a) / row_length(); }

/// How squares are added up so that none is infinite without a word: those of f16 in f32, which has
/// room for them, those of f32 and bf16 in f64; those of f64 make the row NaN.
enum class squaring : std::uint8_t { plain, wide, checked };

squaring squaring_of(const any_tensor& x) {
  if (x.type() == dtype::f64) return squaring::checked;
  return x.type() == dtype::f16 ? squaring::plain : squaring::wide;
}

value row_sum_of_squares(const value& a, squaring how) {
  const value factor = how == squaring::wide ? cast(a, dtype::f64) : a;
  const value sum = row_sum(factor * factor);
  return how == squaring::checked ? sum + (sum - sum) : sum;
}
/// The result of such a sum, converted for use with elements.
value beside_elements(const value& a, squaring how) {
  return how == squaring::wide ? cast(a, dtype::f32) : a;
}

parametric forward_function(bool weight, bool bias, bool statistics, bool centered, squaring how) {
  const int inputs = 1 + (weight ? 1 : 0) + (bias ? 1 : 0);
  return parametric({.inputs = inputs, .reals = 1},
                    [=](std::span<const value> all, std::span<const value> parameters) {
                      input_reader in(all);
                      const value x = in.next();
                      const value mean = centered ? row_mean(x) : value(0);
                      const value shifted = centered ? x - mean : x;
                      const value variance = row_sum_of_squares(shifted, how) / row_length();
                      const value rstd = beside_elements(rsqrt(variance + parameters[0]), how);
                      value y = shifted * rstd;
                      if (weight) y = y * in.next();
                      if (bias) y = y + in.next();
                      results made = {y};
                      if (statistics && centered) made.emplace_back(mean);
                      if (statistics) made.emplace_back(rstd);
                      return made;
                    });
}

steps steps_of(const norm& r) {
  static functions_by_configuration<parametric, 48> functions;
  const bool weight = !r.weight.null();
  const bool bias = !r.bias.null();
  const bool statistics = !r.rstd.null();
  const squaring how = squaring_of(r.x);
  const std::size_t configuration = (weight ? 1U : 0U) | (bias ? 2U : 0U) | (statistics ? 4U : 0U) |
                                    (r.centered ? 8U : 0U) | static_cast<std::size_t>(how) * 16;
  const parametric& what = functions.get(
      configuration, [&] { return forward_function(weight, bias, statistics, r.centered, how); });
  rows made{.inputs = {r.x}, .outputs = {r.y}, .what = what.with({r.eps}), .axes = r.axes};
  if (weight) made.inputs.push_back(r.weight);
  if (bias) made.inputs.push_back(r.bias);
  if (statistics && r.centered) made.outputs.push_back(r.mean);
  if (statistics) made.outputs.push_back(r.rstd);
  return {std::move(made)};
}

value normalised(input_reader& in, const value& x, bool centered) {
  const value shifted = centered ? x - in.next() : x;
  return shifted * in.next();
}

function dx_function(bool weight, bool centered) {
  const int inputs = 3 + (weight ? 1 : 0) + (centered ? 1 : 0);
  return function::of(inputs, [=](std::span<const value> all) {
    input_reader in(all);
    const value x = in.next();
    const value dy = in.next();
    const value shifted = centered ? x - in.next() : x;
    const value rstd = in.next();
    const value unit = shifted * rstd;
    const value g = weight ? dy * in.next() : dy;
    const value along = g - unit * row_mean(g * unit);
    return rstd * (centered ? along - row_mean(g) : along);
  });
}

// A function of dy, and for the weight's gradient also of the operands that normalise x.
function channel_function(bool weight, bool bias, bool centered) {
  const int inputs = weight ? (centered ? 4 : 3) : 1;
  return function::of(inputs, [=](std::span<const value> all) {
    input_reader in(all);
    const value dy = in.next();
    results made;
    if (weight) {
      const value x = in.next();
      made.emplace_back(row_sum(dy * normalised(in, x, centered)));
    }
    if (bias) made.emplace_back(row_sum(dy));
    return made;
  });
}

std::size_t channel_configuration(bool weight, bool bias, bool centered) noexcept {
  return (weight ? 1U : 0U) | (bias ? 2U : 0U) | (centered ? 4U : 0U);
}

// The gradients of weight and bias come first: dx may be where x or dy is.
steps steps_of(const norm_gradient& r) {
  static functions_by_configuration<function, 4> dx_functions;
  static functions_by_configuration<function, 8> channel_functions;
  const bool centered = !r.mean.null();
  const bool weight = !r.dweight.null();
  const bool bias = !r.dbias.null();
  steps made;
  if (weight || bias) {
    rows sums{
        .inputs = {r.dy},
        .outputs = {},
        .what = channel_functions.get(channel_configuration(weight, bias, centered),
                                      [&] { return channel_function(weight, bias, centered); }),
        .axes = r.others};
    if (weight) {
      sums.inputs.push_back(r.x);
      if (centered) sums.inputs.push_back(r.mean);
      sums.inputs.push_back(r.rstd);
      sums.outputs.push_back(r.dweight);
    }
    if (bias) sums.outputs.push_back(r.dbias);
    made.emplace_back(std::move(sums));
  }
  const bool weighted = !r.weight.null();
  rows dx{.inputs = {r.x, r.dy},
          .outputs = {r.dx},
          .what = dx_functions.get((weighted ? 1U : 0U) | (centered ? 2U : 0U),
                                   [&] { return dx_function(weighted, centered); }),
          .axes = r.axes};
  if (centered) dx.inputs.push_back(r.mean);
  dx.inputs.push_back(r.rstd);
  if (weighted) dx.inputs.push_back(r.weight);
  made.emplace_back(std::move(dx));
  return made;
}

template <class View>
any_tensor if_given(const any_tensor& t, View view) {
  return t.null() ? t : view(t);
}

any_tensor row_statistic(const any_tensor& t) {
  return if_given(t, [](const any_tensor& one) { return with_trailing_ones(one, 1); });
}

/// Along the last dimension.
struct last_dimension {
  axis_list axes = {-1};
  axis_list others;

  explicit last_dimension(int rank) {
    for (int d = 0; d + 1 < rank; ++d)
      others.push_back(d);
  }
};

/// [n, c, space…] as [n, groups, c / groups, space…].
class grouped {
 public:
  grouped(const any_tensor& x, std::int64_t groups) noexcept
      : groups_(groups), space_(x.rank() - 2) {}

  [[nodiscard]] any_tensor whole(const any_tensor& t) const { return split(t, 1, groups_); }
  [[nodiscard]] any_tensor channels(const any_tensor& t) const {
    return if_given(t, [&](const any_tensor& one) {
      return with_one_at(with_trailing_ones(split(one, 0, groups_), space_), 0);
    });
  }
  [[nodiscard]] any_tensor statistic(const any_tensor& t) const {
    return if_given(t, [&](const any_tensor& one) { return with_trailing_ones(one, space_ + 1); });
  }
  [[nodiscard]] axis_list axes() const {
    axis_list all;
    for (int d = 2; d < space_ + 3; ++d)
      all.push_back(d);
    return all;
  }
  [[nodiscard]] axis_list others() const {
    axis_list all = {0};
    for (int d = 3; d < space_ + 3; ++d)
      all.push_back(d);
    return all;
  }

 private:
  std::int64_t groups_;
  int space_;
};

template <class R>
steps in_groups(const R& r, std::int64_t groups) {
  const grouped as(r.x, groups);
  return steps_of(norm{.x = as.whole(r.x),
                       .weight = as.channels(r.weight),
                       .bias = as.channels(r.bias),
                       .y = as.whole(r.y),
                       .mean = as.statistic(r.mean),
                       .rstd = as.statistic(r.rstd),
                       .axes = as.axes(),
                       .eps = r.eps,
                       .centered = true});
}
template <class R>
steps gradient_in_groups(const R& r, std::int64_t groups) {
  const grouped as(r.x, groups);
  return steps_of(norm_gradient{.x = as.whole(r.x),
                                .dy = as.whole(r.dy),
                                .mean = as.statistic(r.mean),
                                .rstd = as.statistic(r.rstd),
                                .weight = as.channels(r.weight),
                                .dx = as.whole(r.dx),
                                .dweight = as.channels(r.dweight),
                                .dbias = as.channels(r.dbias),
                                .axes = as.axes(),
                                .others = as.others()});
}

any_tensor last_channel(const any_tensor& t, int rank) {
  return if_given(t, [&](const any_tensor& one) { return along(one, rank - 1, rank); });
}

}  // namespace

steps steps_of(const layer_norm& r) {
  return steps_of(norm{.x = r.x,
                       .weight = r.weight,
                       .bias = r.bias,
                       .y = r.y,
                       .mean = row_statistic(r.mean),
                       .rstd = row_statistic(r.rstd),
                       .axes = {-1},
                       .eps = r.eps,
                       .centered = true});
}

steps steps_of(const layer_norm_backward& r) {
  const last_dimension along_last(r.x.rank());
  return steps_of(norm_gradient{.x = r.x,
                                .dy = r.dy,
                                .mean = row_statistic(r.mean),
                                .rstd = row_statistic(r.rstd),
                                .weight = r.weight,
                                .dx = r.dx,
                                .dweight = last_channel(r.dweight, r.x.rank()),
                                .dbias = last_channel(r.dbias, r.x.rank()),
                                .axes = along_last.axes,
                                .others = along_last.others});
}

steps steps_of(const rms_norm& r) {
  return steps_of(norm{.x = r.x,
                       .weight = r.weight,
                       .bias = {},
                       .y = r.y,
                       .mean = {},
                       .rstd = row_statistic(r.rstd),
                       .axes = {-1},
                       .eps = r.eps,
                       .centered = false});
}

steps steps_of(const rms_norm_backward& r) {
  const last_dimension along_last(r.x.rank());
  return steps_of(norm_gradient{.x = r.x,
                                .dy = r.dy,
                                .mean = {},
                                .rstd = row_statistic(r.rstd),
                                .weight = r.weight,
                                .dx = r.dx,
                                .dweight = last_channel(r.dweight, r.x.rank()),
                                .dbias = {},
                                .axes = along_last.axes,
                                .others = along_last.others});
}

steps steps_of(const group_norm& r) { return in_groups(r, r.groups); }
steps steps_of(const group_norm_backward& r) { return gradient_in_groups(r, r.groups); }
steps steps_of(const instance_norm& r) { return in_groups(r, r.x.extent(1)); }
steps steps_of(const instance_norm_backward& r) { return gradient_in_groups(r, r.x.extent(1)); }

namespace {

parametric l2_function(squaring how) {
  return parametric({.inputs = 1, .reals = 1},
                    [=](std::span<const value> x, std::span<const value> parameters) {
                      const value length = sqrt(row_sum_of_squares(x[0], how));
                      return x[0] / beside_elements(max(length, parameters[0]), how);
                    });
}

parametric l2_gradient(squaring how) {
  return parametric({.inputs = 2, .reals = 1},
                    [=](std::span<const value> all, std::span<const value> parameters) {
                      const value& x = all[0];
                      const value& dy = all[1];
                      const value length = sqrt(row_sum_of_squares(x, how));
                      const value least = beside_elements(max(length, parameters[0]), how);
                      const value unit = x / least;
                      const value along = select(length > parameters[0], row_sum(dy * unit), 0);
                      return (dy - unit * along) / least;
                    });
}

}  // namespace

steps steps_of(const l2_normalize& r) {
  static functions_by_configuration<parametric, 3> functions;
  const squaring how = squaring_of(r.x);
  const parametric& what =
      functions.get(static_cast<std::size_t>(how), [&] { return l2_function(how); });
  return {rows{.inputs = {r.x}, .outputs = {r.y}, .what = what.with({r.eps}), .axes = {r.axis}}};
}

steps steps_of(const l2_normalize_backward& r) {
  static functions_by_configuration<parametric, 3> functions;
  const squaring how = squaring_of(r.x);
  const parametric& what =
      functions.get(static_cast<std::size_t>(how), [&] { return l2_gradient(how); });
  return {
      rows{.inputs = {r.x, r.dy}, .outputs = {r.dx}, .what = what.with({r.eps}), .axes = {r.axis}}};
}

}  // namespace troupe::elementwise
