#include "libraries/tensors/shared/functions.hpp"

#include <optional>
#include <vector>

namespace troupe::tensors {
namespace {

using elementwise::complex_value;
using elementwise::function;
using elementwise::result_value;
using elementwise::value;

/// The real part; integers with all their bits.
value constant(const scalar& s) {
  if (s.what() == scalar::kind::integer) return s.as<std::int64_t>();
  if (s.what() == scalar::kind::unsigned_integer) return s.as<std::uint64_t>();
  return s.as<double>();
}

/// A number that may be complex.
class term {
 public:
  static term input(const value& x, bool complex) {
    if (!complex) return term(x);
    const complex_value parts = elementwise::complex(x);
    return term(parts.real, parts.imaginary);
  }

  explicit term(value real) : real_(std::move(real)) {}
  term(value real, value imaginary) : real_(std::move(real)), imaginary_(std::move(imaginary)) {}

  [[nodiscard]] const value& real() const noexcept { return real_; }
  [[nodiscard]] bool is_complex() const noexcept { return imaginary_.has_value(); }
  [[nodiscard]] complex_value parts() const { return {real_, *imaginary_}; }
  [[nodiscard]] result_value stored() const {
    return is_complex() ? result_value(parts()) : result_value(real_);
  }

  /// Each part by itself.
  template <class F>
  [[nodiscard]] term each(F f) const {
    return is_complex() ? term(f(real_), f(*imaginary_)) : term(f(real_));
  }
  template <class F>
  [[nodiscard]] term each_with(const term& other, F f) const {
    return is_complex() ? term(f(real_, other.real_), f(*imaginary_, *other.imaginary_))
                        : term(f(real_, other.real_));
  }
  [[nodiscard]] term times(const term& other) const {
    if (!is_complex()) return term(real_ * other.real_);
    const complex_value made = parts() * other.parts();
    return {made.real, made.imaginary};
  }
  /// A factor of 1 is none, so that it changes no bit.
  [[nodiscard]] term times(const scalar& factor) const {
    if (factor.has_imaginary()) {
      const auto number = factor.as<std::complex<double>>();
      return times(term(value(number.real()), value(number.imag())));
    }
    if (factor.as<double>() == 1) return *this;
    const value number = constant(factor);
    return each([&](const value& x) { return x * number; });
  }

 private:
  value real_;
  std::optional<value> imaginary_;
};

term plus(const term& a, const term& b) {
  return a.each_with(b, [](const value& x, const value& y) { return x + y; });
}

term product(std::span<const value> x, int factors, bool complex) {
  term made = term::input(x[0], complex);
  for (int i = 1; i < factors; ++i)
    made = made.times(term::input(x[static_cast<std::size_t>(i)], complex));
  return made;
}

/// alpha · made + beta · c
std::vector<result_value> finished(const term& made, std::span<const value> x, bool complex,
                                   const scalar& alpha, const scalar* beta) {
  const term scaled = made.times(alpha);
  if (beta == nullptr) return {scaled.stored()};
  return {plus(scaled, term::input(x.back(), complex).times(*beta)).stored()};
}

value reduced(reduction op, const value& x) {
  switch (op) {
    case reduction::sum:
      return row_sum(x);
    case reduction::maximum:
      return row_max(x);
    case reduction::minimum:
      return row_min(x);
    case reduction::product:
      return row_product(x);
  }
  return x;
}

value applied(unary_operator op, const value& x) {
  switch (op) {
    case unary_operator::identity:
    case unary_operator::conjugate:
      return x;
    case unary_operator::negate:
      return -x;
    case unary_operator::square:
      return square(x);
    case unary_operator::reciprocal:
      return value(1.0) / x;
    case unary_operator::absolute:
      return abs(x);
    case unary_operator::square_root:
      return sqrt(x);
    case unary_operator::exponential:
      return exp(x);
    case unary_operator::logarithm:
      return log(x);
    case unary_operator::sine:
      return sin(x);
    case unary_operator::cosine:
      return cos(x);
    case unary_operator::tangent:
      return tan(x);
    case unary_operator::hyperbolic_tangent:
      return tanh(x);
    case unary_operator::sigmoid:
      return sigmoid(x);
    case unary_operator::relu:
      return relu(x);
    case unary_operator::ceil:
      return ceil(x);
    case unary_operator::floor:
      return floor(x);
  }
  return x;
}

term applied(unary_operator op, const term& x) {
  if (!x.is_complex()) return term(applied(op, x.real()));
  const complex_value z = x.parts();
  if (op == unary_operator::conjugate) return {z.real, -z.imaginary};
  if (op == unary_operator::negate) return {-z.real, -z.imaginary};
  if (op == unary_operator::square) return x.times(x);
  if (op == unary_operator::reciprocal) {
    // By the larger part, so that no square overflows. Source: R. Smith, "Algorithm 116: Complex
    // division", 1962.
    const value wide = abs(z.imaginary) <= abs(z.real);
    const value large = select(wide, z.real, z.imaginary);
    const value small = select(wide, z.imaginary, z.real);
    const value ratio = small / large;
    const value size = large + small * ratio;
    return {select(wide, value(1.0), ratio) / size, -(select(wide, ratio, value(1.0)) / size)};
  }
  return x;
}

term applied(binary_operator op, const term& a, const term& b) {
  switch (op) {
    case binary_operator::add:
      return plus(a, b);
    case binary_operator::subtract:
      return a.each_with(b, [](const value& x, const value& y) { return x - y; });
    case binary_operator::multiply:
      return a.times(b);
    case binary_operator::minimum:
      return term(min(a.real(), b.real()));
    case binary_operator::maximum:
      return term(max(a.real(), b.real()));
  }
  return a;
}

}  // namespace

function as_it_is(bool complex) { return scaled_product(1, complex, 1, nullptr); }

function scaled_product(int factors, bool complex, const scalar& alpha, const scalar* beta) {
  return function::of(factors + (beta != nullptr ? 1 : 0), [&](std::span<const value> x) {
    return finished(product(x, factors, complex), x, complex, alpha, beta);
  });
}

function scaled_sum(int factors, bool complex, const scalar& alpha, const scalar* beta) {
  return function::of(factors + (beta != nullptr ? 1 : 0), [&](std::span<const value> x) {
    const term sum =
        product(x, factors, complex).each([](const value& part) { return row_sum(part); });
    return finished(sum, x, complex, alpha, beta);
  });
}

function scaled_reduction(reduction op, bool complex, const scalar& alpha, const scalar* beta) {
  return function::of(beta != nullptr ? 2 : 1, [&](std::span<const value> x) {
    const term made =
        term::input(x[0], complex).each([op](const value& part) { return reduced(op, part); });
    return finished(made, x, complex, alpha, beta);
  });
}

function combined(std::span<const scaled_operand> operands,
                  std::span<const binary_operator> between, bool complex) {
  return function::of(static_cast<int>(operands.size()), [&](std::span<const value> x) {
    const auto operand = [&](std::size_t i) {
      return applied(operands[i].op, term::input(x[i], complex)).times(operands[i].factor);
    };
    term made = operand(0);
    for (std::size_t i = 0; i < between.size(); ++i)
      made = applied(between[i], made, operand(i + 1));
    return std::vector<result_value>{made.stored()};
  });
}

}  // namespace troupe::tensors
