#include "libraries/elementwise/shared/parametric.hpp"
#include "libraries/elementwise/shared/steps.hpp"
#include "libraries/elementwise/shared/views.hpp"

#include <utility>

namespace troupe::elementwise {
namespace {

constexpr std::size_t kinds = 10;
static_assert(static_cast<std::size_t>(activation_kind::mish) + 1 == kinds);

value apply_kind(activation_kind kind, const value& x, const value& alpha) {
  switch (kind) {
    case activation_kind::relu:
      return relu(x);
    case activation_kind::leaky_relu:
      return leaky_relu(x, alpha);
    case activation_kind::elu:
      return elu(x, alpha);
    case activation_kind::gelu:
      return gelu(x);
    case activation_kind::gelu_tanh:
      return gelu_tanh(x);
    case activation_kind::silu:
      return silu(x);
    case activation_kind::sigmoid:
      return sigmoid(x);
    case activation_kind::tanh:
      return tanh(x);
    case activation_kind::softplus:
      return softplus(x);
    case activation_kind::mish:
      return mish(x);
  }
  return x;
}

// Those whose derivative, made instruction by instruction, would be another one at 0, or longer.
std::optional<value> slope_of(activation_kind kind, const value& x, const value& dy,
                              const value& alpha) {
  switch (kind) {
    case activation_kind::relu:
      return select(x > 0, dy, 0);
    case activation_kind::leaky_relu:
      return select(x > 0, dy, alpha * dy);
    // By e^−|x|, which neither overflows nor cancels.
    case activation_kind::sigmoid: {
      const value e = exp(-abs(x));
      return dy * (e / square(1 + e));
    }
    case activation_kind::silu: {
      const value e = exp(-abs(x));
      const value y = select(x > 0, 1, e) / (1 + e);
      return dy * (y + clip(x, -800, 800) * (e / square(1 + e)));  // no ∞ · 0
    }
    default:
      return std::nullopt;
  }
}

parametric forward_function(activation_kind kind) {
  return parametric({.inputs = 1, .reals = 1},
                    [=](std::span<const value> x, std::span<const value> parameters) {
                      return apply_kind(kind, x[0], parameters[0]);
                    });
}

parametric backward_function(activation_kind kind) {
  bool is_slope = false;
  const parametric made({.inputs = 2, .reals = 1},
                        [&](std::span<const value> in, std::span<const value> parameters) {
                          const auto slope = slope_of(kind, in[0], in[1], parameters[0]);
                          is_slope = slope.has_value();
                          return slope ? *slope : apply_kind(kind, in[0], parameters[0]) * in[1];
                        });
  return is_slope ? made : made.derivative(0);
}

std::int64_t as_integer(std::uint64_t word) noexcept { return static_cast<std::int64_t>(word); }

}  // namespace

steps steps_of(const activation& r) {
  static functions_by_configuration<parametric, kinds> functions;
  const parametric& what =
      functions.get(static_cast<std::size_t>(r.kind), [&] { return forward_function(r.kind); });
  return {map{.inputs = {r.x}, .outputs = {r.y}, .what = what.with({r.alpha})}};
}

steps steps_of(const activation_backward& r) {
  static functions_by_configuration<parametric, kinds> functions;
  const parametric& what =
      functions.get(static_cast<std::size_t>(r.kind), [&] { return backward_function(r.kind); });
  return {map{.inputs = {r.x, r.dy}, .outputs = {r.dx}, .what = what.with({r.alpha})}};
}

steps steps_of(const bias_add& r) {
  static const function what =
      function::of(2, [](std::span<const value> x) { return x[0] + x[1]; });
  const int rank = r.x.rank();
  return {map{.inputs = {r.x, along(r.bias, from_first(r.axis, rank), rank)},
              .outputs = {r.y},
              .what = what}};
}

steps steps_of(const bias_add_backward& r) {
  static const function what =
      function::of(1, [](std::span<const value> x) { return row_sum(x[0]); });
  const int rank = r.dy.rank();
  const int axis = from_first(r.axis, rank);
  rows made{.inputs = {r.dy}, .outputs = {along(r.dbias, axis, rank)}, .what = what, .axes = {}};
  for (int d = 0; d < rank; ++d) {
    if (d != axis) made.axes.push_back(d);
  }
  return {std::move(made)};
}

steps steps_of(const residual_add& r) {
  static const parametric what({.inputs = 2, .reals = 1},
                               [](std::span<const value> x, std::span<const value> parameters) {
                                 return x[0] + parameters[0] * x[1];
                               });
  return {map{.inputs = {r.x, r.residual}, .outputs = {r.y}, .what = what.with({r.scale})}};
}

steps steps_of(const dropout& r) {
  static const parametric what({.inputs = 1, .reals = 2, .integers = 2},
                               [](std::span<const value> x, std::span<const value> parameters) {
                                 const value u =
                                     random_uniform(parameters[2], position() + parameters[3]);
                                 return select(u < parameters[0], 0, x[0] * parameters[1]);
                               });
  const double scale = r.p < 1 ? 1 / (1 - r.p) : 0.0;
  return {map{.inputs = {r.x},
              .outputs = {r.y},
              .what = what.with({r.p, scale, as_integer(r.seed), as_integer(r.offset)})}};
}

}  // namespace troupe::elementwise
