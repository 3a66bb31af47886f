#pragma once

#include <troupe/base/export.hpp>
#include <troupe/elementwise/opcode.hpp>
#include <troupe/tensor/dtype.hpp>
#include <troupe/tensor/scalar.hpp>

#include <cstdint>
#include <type_traits>

/// Expressions: the computation of a `function`, written with operators.
namespace troupe::elementwise {

namespace detail {
class graph;
}

/// A number that a function computes for each element: an input, a constant, or what operators and
/// the functions below make of them. It exists while the function is built.
class TROUPE_EXPORT value {
 public:
  /// A constant. It takes the type of the other operand, so that `2 * x` is bf16 for bf16.
  template <class T>
    requires std::is_arithmetic_v<T>
  value(T number) noexcept : number_(number) {}

 private:
  friend class detail::graph;
  value(std::uint64_t graph, std::uint16_t node) noexcept : graph_(graph), node_(node) {}

  std::uint64_t graph_ = 0;  // that it is a node of; none for a constant
  std::uint16_t node_ = 0;
  scalar number_;
};

/// One instruction. Throws `failure` (`errc::invalid_argument`) if no function is being built, if
/// an operand is a value of another function, or if the opcode has another number of operands.
[[nodiscard]] TROUPE_EXPORT value apply(opcode op, const value& a);
[[nodiscard]] TROUPE_EXPORT value apply(opcode op, const value& a, const value& b);
[[nodiscard]] TROUPE_EXPORT value apply(opcode op, const value& a, const value& b, const value& c);

/// Rounds to an element type and computes on in the type that this computes in: f16, bf16, e4m3 and
/// e5m2 in f32, integers in i64. Float to integer truncates, out of range gives the nearest bound,
/// NaN gives 0; integers wrap; e4m3 and e5m2 saturate. Not complex.
[[nodiscard]] TROUPE_EXPORT value cast(const value& a, dtype type);

// Operators -----------------------------------------------------------------------------------
// clang-format off
[[nodiscard]] inline value operator+(const value& a, const value& b) { return apply(opcode::add, a, b); }
[[nodiscard]] inline value operator-(const value& a, const value& b) { return apply(opcode::subtract, a, b); }
[[nodiscard]] inline value operator*(const value& a, const value& b) { return apply(opcode::multiply, a, b); }
/// Integers are divided in f32; see `quotient`.
[[nodiscard]] inline value operator/(const value& a, const value& b) { return apply(opcode::divide, a, b); }
/// With the sign of b.
[[nodiscard]] inline value operator%(const value& a, const value& b) { return apply(opcode::remainder, a, b); }
[[nodiscard]] inline value operator-(const value& a) { return apply(opcode::negative, a); }
[[nodiscard]] inline value operator==(const value& a, const value& b) { return apply(opcode::equal, a, b); }
[[nodiscard]] inline value operator!=(const value& a, const value& b) { return apply(opcode::not_equal, a, b); }
[[nodiscard]] inline value operator<(const value& a, const value& b) { return apply(opcode::less, a, b); }
[[nodiscard]] inline value operator<=(const value& a, const value& b) { return apply(opcode::less_equal, a, b); }
[[nodiscard]] inline value operator>(const value& a, const value& b) { return apply(opcode::less, b, a); }
[[nodiscard]] inline value operator>=(const value& a, const value& b) { return apply(opcode::less_equal, b, a); }
/// For integers or booleans, as are `|`, `^` and `~`.
[[nodiscard]] inline value operator&(const value& a, const value& b) { return apply(opcode::bit_and, a, b); }
[[nodiscard]] inline value operator|(const value& a, const value& b) { return apply(opcode::bit_or, a, b); }
[[nodiscard]] inline value operator^(const value& a, const value& b) { return apply(opcode::bit_xor, a, b); }
[[nodiscard]] inline value operator~(const value& a) { return apply(opcode::bit_not, a); }
[[nodiscard]] inline value operator<<(const value& a, const value& b) { return apply(opcode::shift_left, a, b); }
[[nodiscard]] inline value operator>>(const value& a, const value& b) { return apply(opcode::shift_right, a, b); }

// Functions that are one instruction; `opcode` says what each computes. --------------------------
[[nodiscard]] inline value abs(const value& a) { return apply(opcode::absolute, a); }
[[nodiscard]] inline value sign(const value& a) { return apply(opcode::sign, a); }
[[nodiscard]] inline value ceil(const value& a) { return apply(opcode::ceil, a); }
[[nodiscard]] inline value floor(const value& a) { return apply(opcode::floor, a); }
[[nodiscard]] inline value trunc(const value& a) { return apply(opcode::trunc, a); }
[[nodiscard]] inline value round(const value& a) { return apply(opcode::round, a); }
[[nodiscard]] inline value sqrt(const value& a) { return apply(opcode::sqrt, a); }
[[nodiscard]] inline value rsqrt(const value& a) { return apply(opcode::rsqrt, a); }
[[nodiscard]] inline value cbrt(const value& a) { return apply(opcode::cbrt, a); }
[[nodiscard]] inline value exp(const value& a) { return apply(opcode::exp, a); }
[[nodiscard]] inline value exp2(const value& a) { return apply(opcode::exp2, a); }
[[nodiscard]] inline value expm1(const value& a) { return apply(opcode::expm1, a); }
[[nodiscard]] inline value log(const value& a) { return apply(opcode::log, a); }
[[nodiscard]] inline value log2(const value& a) { return apply(opcode::log2, a); }
[[nodiscard]] inline value log10(const value& a) { return apply(opcode::log10, a); }
[[nodiscard]] inline value log1p(const value& a) { return apply(opcode::log1p, a); }
[[nodiscard]] inline value sin(const value& a) { return apply(opcode::sin, a); }
[[nodiscard]] inline value cos(const value& a) { return apply(opcode::cos, a); }
[[nodiscard]] inline value tan(const value& a) { return apply(opcode::tan, a); }
[[nodiscard]] inline value asin(const value& a) { return apply(opcode::asin, a); }
[[nodiscard]] inline value acos(const value& a) { return apply(opcode::acos, a); }
[[nodiscard]] inline value atan(const value& a) { return apply(opcode::atan, a); }
[[nodiscard]] inline value sinh(const value& a) { return apply(opcode::sinh, a); }
[[nodiscard]] inline value cosh(const value& a) { return apply(opcode::cosh, a); }
[[nodiscard]] inline value tanh(const value& a) { return apply(opcode::tanh, a); }
[[nodiscard]] inline value asinh(const value& a) { return apply(opcode::asinh, a); }
[[nodiscard]] inline value acosh(const value& a) { return apply(opcode::acosh, a); }
[[nodiscard]] inline value atanh(const value& a) { return apply(opcode::atanh, a); }
[[nodiscard]] inline value erf(const value& a) { return apply(opcode::erf, a); }
[[nodiscard]] inline value erfc(const value& a) { return apply(opcode::erfc, a); }
[[nodiscard]] inline value lgamma(const value& a) { return apply(opcode::lgamma, a); }
[[nodiscard]] inline value tgamma(const value& a) { return apply(opcode::tgamma, a); }
[[nodiscard]] inline value is_nan(const value& a) { return apply(opcode::is_nan, a); }
[[nodiscard]] inline value is_infinite(const value& a) { return apply(opcode::is_infinite, a); }
[[nodiscard]] inline value quotient(const value& a, const value& b) { return apply(opcode::quotient, a, b); }
[[nodiscard]] inline value pow(const value& a, const value& b) { return apply(opcode::power, a, b); }
[[nodiscard]] inline value atan2(const value& a, const value& b) { return apply(opcode::atan2, a, b); }
[[nodiscard]] inline value hypot(const value& a, const value& b) { return apply(opcode::hypot, a, b); }
[[nodiscard]] inline value copysign(const value& a, const value& b) { return apply(opcode::copysign, a, b); }
[[nodiscard]] inline value min(const value& a, const value& b) { return apply(opcode::minimum, a, b); }
[[nodiscard]] inline value max(const value& a, const value& b) { return apply(opcode::maximum, a, b); }
[[nodiscard]] inline value fmin(const value& a, const value& b) { return apply(opcode::fmin, a, b); }
[[nodiscard]] inline value fmax(const value& a, const value& b) { return apply(opcode::fmax, a, b); }
[[nodiscard]] inline value fma(const value& a, const value& b, const value& c) { return apply(opcode::fma, a, b, c); }
[[nodiscard]] inline value select(const value& condition, const value& a, const value& b) { return apply(opcode::select, condition, a, b); }
/// 32 random bits, as an integer: number `number` of the philox stream of `seed`.
[[nodiscard]] inline value random_bits(const value& seed, const value& number) { return apply(opcode::philox, number, seed); }

/// The index along an axis of the result, counted from the last, which is 0.
[[nodiscard]] TROUPE_EXPORT value index(int axis_from_last);
/// The number of the element in row-major order.
[[nodiscard]] TROUPE_EXPORT value position();
/// The number of elements of a row.
[[nodiscard]] TROUPE_EXPORT value row_length();

// Row operations, in `rows` and `reduce` only. ---------------------------------------------------------
[[nodiscard]] inline value row_sum(const value& a) { return apply(opcode::row_sum, a); }
[[nodiscard]] inline value row_product(const value& a) { return apply(opcode::row_product, a); }
[[nodiscard]] inline value row_min(const value& a) { return apply(opcode::row_minimum, a); }
[[nodiscard]] inline value row_max(const value& a) { return apply(opcode::row_maximum, a); }
[[nodiscard]] inline value row_argmin(const value& a) { return apply(opcode::row_argmin, a); }
[[nodiscard]] inline value row_argmax(const value& a) { return apply(opcode::row_argmax, a); }
// clang-format on

// Functions made of these. ------------------------------------------------------------------------
[[nodiscard]] TROUPE_EXPORT value square(const value& a);
[[nodiscard]] TROUPE_EXPORT value clip(const value& a, const value& least, const value& most);
[[nodiscard]] TROUPE_EXPORT value sigmoid(const value& a);
[[nodiscard]] TROUPE_EXPORT value silu(const value& a);
[[nodiscard]] TROUPE_EXPORT value relu(const value& a);
[[nodiscard]] TROUPE_EXPORT value leaky_relu(const value& a, const value& slope);
[[nodiscard]] TROUPE_EXPORT value elu(const value& a, const value& alpha);
/// x · Φ(x), by erf.
[[nodiscard]] TROUPE_EXPORT value gelu(const value& a);
/// The approximation of `gelu` by tanh. Source: Hendrycks, Gimpel, "Gaussian Error Linear Units",
/// 2016.
[[nodiscard]] TROUPE_EXPORT value gelu_tanh(const value& a);
/// log(1 + eˣ), without overflow.
[[nodiscard]] TROUPE_EXPORT value softplus(const value& a);
[[nodiscard]] TROUPE_EXPORT value mish(const value& a);
/// In (0, 1): (b + ½) · 2⁻²³ of the upper 23 bits b.
[[nodiscard]] TROUPE_EXPORT value random_uniform(const value& seed, const value& number);
/// Mean 0, deviation 1. Uses numbers 2 · `number` and 2 · `number` + 1. Source: Box and Muller,
/// 1958.
[[nodiscard]] TROUPE_EXPORT value random_normal(const value& seed, const value& number);

/// A complex number: a pair of values.
struct complex_value {
  value real;
  value imaginary;
};
/// An input of type c64 or c128, which is taken so alone, or a real constant. Throws `failure` for
/// any other value.
[[nodiscard]] TROUPE_EXPORT complex_value complex(const value& input);
[[nodiscard]] TROUPE_EXPORT complex_value operator+(const complex_value& a, const complex_value& b);
[[nodiscard]] TROUPE_EXPORT complex_value operator-(const complex_value& a, const complex_value& b);
[[nodiscard]] TROUPE_EXPORT complex_value operator*(const complex_value& a, const complex_value& b);
[[nodiscard]] TROUPE_EXPORT complex_value operator*(const complex_value& a, const value& b);
[[nodiscard]] TROUPE_EXPORT complex_value conj(const complex_value& a);
[[nodiscard]] TROUPE_EXPORT value abs(const complex_value& a);

}  // namespace troupe::elementwise
