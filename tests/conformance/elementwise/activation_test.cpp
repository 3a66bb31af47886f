#include "named_cases.hpp"
#include "reference.hpp"

#include <troupe/elementwise.hpp>

#include <cmath>
#include <numbers>

namespace troupe::conformance {
namespace {

using namespace elementwise_reference;
using elementwise::activation_kind;

constexpr activation_kind activation_kinds[] = {
    activation_kind::relu,    activation_kind::leaky_relu, activation_kind::elu,
    activation_kind::gelu,    activation_kind::gelu_tanh,  activation_kind::silu,
    activation_kind::sigmoid, activation_kind::tanh,       activation_kind::softplus,
    activation_kind::mish};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

double activated(activation_kind kind, double x, double alpha) {
  switch (kind) {
    case activation_kind::relu:
      return x > 0 || std::isnan(x) ? x : 0;
    case activation_kind::leaky_relu:
      return x > 0 ? x : alpha * x;
    case activation_kind::elu:
      return x > 0 ? x : alpha * std::expm1(x);
    case activation_kind::gelu:
      return x / 2 * std::erfc(-x / std::numbers::sqrt2);
    case activation_kind::gelu_tanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case activation_kind::silu:
      return x * sigmoid(x);
    case activation_kind::sigmoid:
      return sigmoid(x);
    case activation_kind::tanh:
      return std::tanh(x);
    case activation_kind::softplus:
      return softplus(x);
    case activation_kind::mish:
      return x * std::tanh(softplus(x));
  }
  return 0;
}

// By formulas from elsewhere than the library's instruction-wise derivative.
double slope(activation_kind kind, double x, double alpha) {
  const double pi = std::numbers::pi;
  const double s = sigmoid(x);
  switch (kind) {
    case activation_kind::relu:
      return x > 0 ? 1 : 0;
    case activation_kind::leaky_relu:
      return x > 0 ? 1 : alpha;
    case activation_kind::elu:
      return x > 0 ? 1 : alpha * std::exp(x);
    case activation_kind::gelu:
      return std::erfc(-x / std::numbers::sqrt2) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * pi);
    case activation_kind::gelu_tanh: {
      const double t = std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x));
      return (1 + t) / 2 + x / 2 * (1 - t * t) * std::sqrt(2 / pi) * (1 + 3 * 0.044715 * x * x);
    }
    case activation_kind::silu:
      return s * (1 + x * (1 - s));
    case activation_kind::sigmoid:
      return s * (1 - s);
    case activation_kind::tanh:
      return 1 - std::tanh(x) * std::tanh(x);
    case activation_kind::softplus:
      return s;
    case activation_kind::mish: {
      const double t = std::tanh(softplus(x));
      return t + x * (1 - t * t) * s;
    }
  }
  return 0;
}

// Near 0 and where exponentials overflow.
void spread(scene& s, test_tensor& x) {
  constexpr double some[] = {0, -0.0, 1, -1, 20, -20, 100, -100, 3.5, -3.5, 1e-3, -1e-3};
  std::vector<number> values = x.values;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i % 3 == 0 ? some[i / 3 % std::size(some)] : values[i] * 4.0;
  s.fill(x, values);
}

TEST(ElementwiseActivation, IsThatOfTheDefinition) {
  for (const dtype type : float_types) {
    for (const tensor_case& c : tensor_cases()) {
      for (const activation_kind kind : activation_kinds) {
        scene s;
        name_case(s, type, c.size, static_cast<int>(kind));
        auto& x = tensor_of(s, type, c);
        spread(s, x);
        const bool in_place = c.size.size() == 2;
        auto& y = in_place ? s.again(x, x.view) : tensor_of(s, type, c);
        const bool slopes = kind == activation_kind::leaky_relu || kind == activation_kind::elu;
        const double alpha = slopes ? 0.25 : 0.01;
        reals wanted;
        for (const double one : content(x))
          wanted.push_back(activated(kind, one, alpha));
        s.run(elementwise::activation{.x = x.view, .y = y.view, .kind = kind, .alpha = alpha});
        expect_reals(s, y, wanted);
      }
    }
  }
}

TEST(ElementwiseActivation, HasTheGradientOfTheDefinition) {
  for (const dtype type : float_types) {
    for (const tensor_case& c : tensor_cases()) {
      for (const activation_kind kind : activation_kinds) {
        scene s;
        name_case(s, type, c.size, static_cast<int>(kind));
        auto& x = tensor_of(s, type, c);
        spread(s, x);
        auto& dy = tensor_of(s, type, c);
        const bool in_place = c.size.size() == 2;
        auto& dx = in_place ? s.again(dy, dy.view) : tensor_of(s, type, c);
        const bool slopes = kind == activation_kind::leaky_relu || kind == activation_kind::elu;
        const double alpha = slopes ? 0.25 : 0.01;
        const reals at = content(x);
        reals wanted = content(dy);
        for (std::size_t i = 0; i < at.size(); ++i)
          wanted[i] *= slope(kind, at[i], alpha);
        s.run(elementwise::activation_backward{
            .x = x.view, .dy = dy.view, .dx = dx.view, .kind = kind, .alpha = alpha});
        expect_reals(s, dx, wanted);
      }
    }
  }
}

TEST(ElementwiseActivation, TakesAlphaOnlyWhereItMeansSomething) {
  scene s;
  auto& x = s.vector(dtype::f32, 3);
  s.refuse(elementwise::activation{.x = x.view, .y = x.view, .alpha = 0.5}, errc::invalid_argument,
           "alpha");
}

std::size_t index_along(std::size_t flat, const tensor_case& c) {
  const auto rank = static_cast<std::int64_t>(c.size.size());
  std::size_t inner = 1;
  const auto axis = static_cast<std::size_t>(c.axis < 0 ? c.axis + rank : c.axis);
  for (std::size_t d = axis + 1; d < c.size.size(); ++d)
    inner *= static_cast<std::size_t>(c.size[d]);
  return flat / inner % static_cast<std::size_t>(c.size[axis]);
}

TEST(ElementwiseBiasAdd, AndItsGradientGoAlongTheAxis) {
  for (const dtype type : float_types) {
    for (const tensor_case& c : tensor_cases()) {
      scene s;
      name_case(s, type, c.size);
      const auto rank = static_cast<std::int64_t>(c.size.size());
      const std::int64_t n = c.size[static_cast<std::size_t>(c.axis < 0 ? c.axis + rank : c.axis)];
      auto& x = tensor_of(s, type, c);
      auto& bias = s.vector(type, n);
      auto& y = rank == 3 ? s.again(x, x.view) : tensor_of(s, type, c);
      reals wanted = content(x);
      reals sums(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        sums[index_along(i, c)] += wanted[i];
        wanted[i] += content(bias)[index_along(i, c)];
      }
      s.run(elementwise::bias_add{.x = x.view, .bias = bias.view, .y = y.view, .axis = c.axis});
      expect_reals(s, y, wanted);
      if (rank == 3) continue;
      auto& dbias = s.vector(type, n);
      s.run(elementwise::bias_add_backward{.dy = x.view, .dbias = dbias.view, .axis = c.axis});
      expect_reals(s, dbias, sums, 4);
    }
  }
}

TEST(ElementwiseBiasAdd, RefusesABiasOfAnotherLength) {
  scene s;
  auto& x = s.tensor(dtype::f32, {3, 4}, {4, 1});
  auto& bias = s.vector(dtype::f32, 4);
  s.refuse(elementwise::bias_add{.x = x.view, .bias = bias.view, .y = x.view, .axis = 0},
           errc::shape_mismatch, "bias must have 3 elements");
}

TEST(ElementwiseResidualAdd, AddsAScaledTensor) {
  for (const dtype type : float_types) {
    for (const tensor_case& c : tensor_cases()) {
      for (const double scale : {1.0, -0.75}) {
        scene s;
        name_case(s, type, c.size);
        auto& x = tensor_of(s, type, c);
        auto& residual = tensor_of(s, type, c);
        auto& y = scale < 0 ? s.again(residual, residual.view) : tensor_of(s, type, c);
        reals wanted = content(x);
        for (std::size_t i = 0; i < wanted.size(); ++i)
          wanted[i] += scale * content(residual)[i];
        s.run(elementwise::residual_add{
            .x = x.view, .residual = residual.view, .y = y.view, .scale = scale});
        expect_reals(s, y, wanted);
      }
    }
  }
}

TEST(ElementwiseDropout, DropsWhatItsStreamSays) {
  struct drop_case {
    double p;
    std::uint64_t seed;
    std::uint64_t offset;
  };
  constexpr drop_case drops[] = {
      {0, 1, 0}, {0.25, 77, 5}, {0.5, 0xfedcba9876543210u, std::uint64_t{1} << 40}, {1, 3, 0}};
  for (const dtype type : float_types) {
    for (const tensor_case& c : tensor_cases()) {
      for (const auto& [p, seed, offset] : drops) {
        scene s;
        name_case(s, type, c.size, static_cast<std::int64_t>(p * 100));
        auto& x = tensor_of(s, type, c);
        auto& y = c.size.size() == 2 ? s.again(x, x.view) : tensor_of(s, type, c);
        reals wanted = content(x);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          const auto bits =
              philox(static_cast<std::int64_t>(offset + i), static_cast<std::int64_t>(seed));
          const double u = (static_cast<double>(bits >> 9) + 0.5) * 0x1p-23;
          wanted[i] = u < p ? 0 : wanted[i] / (1 - p);
        }
        s.run(
            elementwise::dropout{.x = x.view, .y = y.view, .p = p, .seed = seed, .offset = offset});
        expect_reals(s, y, wanted);
      }
    }
  }
}

TEST(ElementwiseActivation, HasItsLimitsFarOut) {
  for (const dtype type : {dtype::f64, dtype::f32, dtype::bf16}) {
    for (const activation_kind kind : activation_kinds) {
      scene s;
      name_case(s, type, {6}, static_cast<int>(kind));
      auto& x = s.vector(type, 6);
      s.fill(x, {-infinity, -1e30, -1000, 1000, 1e30, infinity});
      auto& y = s.vector(type, 6);
      auto& dy = s.vector(type, 6);
      s.fill(dy, {1, 1, 1, 1, 1, 1});
      auto& dx = s.vector(type, 6);
      const bool flat = kind == activation_kind::sigmoid || kind == activation_kind::tanh;
      const bool rises = kind == activation_kind::leaky_relu;
      reals values = content(x);
      reals slopes(6, 0.0);
      for (std::size_t i = 0; i < 6; ++i) {
        if (i < 3 && !rises) values[i] = 0;
        if (i >= 3 && !flat) slopes[i] = 1;
        if (i >= 3 && flat) values[i] = 1;
        if (i < 3 && kind == activation_kind::tanh) values[i] = -1;
        if (i < 3 && kind == activation_kind::elu) values[i] = -0.25;
        if (i < 3 && rises) slopes[i] = 0.25, values[i] *= 0.25;
      }
      const double alpha = rises || kind == activation_kind::elu ? 0.25 : 0.01;
      s.run(elementwise::activation{.x = x.view, .y = y.view, .kind = kind, .alpha = alpha});
      expect_reals(s, y, values);
      s.run(elementwise::activation_backward{
          .x = x.view, .dy = dy.view, .dx = dx.view, .kind = kind, .alpha = alpha});
      expect_reals(s, dx, slopes);
    }
  }
}

// For arguments at which 1 + erf and 1 + tanh would cancel.
TEST(ElementwiseActivation, KeepsItsDigitsInTheTail) {
  for (const dtype type : {dtype::f64, dtype::f32}) {
    for (const activation_kind kind : {activation_kind::gelu, activation_kind::gelu_tanh}) {
      scene s;
      auto& x = s.vector(type, 3);
      s.fill(x, type == dtype::f64 ? std::vector<number>{-5, -7, -9}
                                   : std::vector<number>{-3, -4, -5});
      auto& y = s.vector(type, 3);
      s.run(elementwise::activation{.x = x.view, .y = y.view, .kind = kind});
      const auto now = s.elements_now(y);
      for (std::size_t i = 0; i < 3; ++i) {
        const long double at = x.values[i].real();
        const long double u =
            std::sqrt(8 / std::numbers::pi_v<long double>) * (at + 0.044715L * at * at * at);
        const long double wanted =
            kind == activation_kind::gelu
                ? at / 2 * std::erfc(-at / std::numbers::sqrt2_v<long double>)
                : at / (1 + std::exp(-u));
        EXPECT_NEAR(now[i].real() / static_cast<double>(wanted), 1,
                    type == dtype::f64 ? 1e-13 : 1e-5);
      }
    }
  }
}

TEST(ElementwiseRelu, KeepsNaN) {
  scene s;
  auto& x = s.vector(dtype::f32, 2);
  s.fill(x, std::vector<number>{NAN, -infinity});
  auto& y = s.vector(dtype::f32, 2);
  s.run(elementwise::activation{.x = x.view, .y = y.view});
  expect_reals(s, y, {NAN, 0});
}

}  // namespace
}  // namespace troupe::conformance
