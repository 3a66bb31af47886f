#pragma once

#include "libraries/elementwise/shared/operations.hpp"

#include <troupe/tensor/small_floats.hpp>

#include <bit>
#include <cstdint>
#include <numbers>
#include <type_traits>

// Functions of f32 that a compiler can vectorise, computed in f64: the f64 result's error is far
// below half a unit of f32, so the results are correctly rounded but for rare ties. Included by
// each kind of processor's loops; only such ties can differ between them.

namespace troupe::cpu {
namespace {

// a · b + c, rounded once where the processor can: half of the operations of a polynomial.
inline double fused(double a, double b, double c) {
#ifdef __FMA__
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// e^x for |x| below 200, to 1e-10. Source: reduction x = n·ln 2 + r, Taylor series of e^r.
inline double exp_f64(double x) {
  using std::numbers::ln2;
  using std::numbers::log2e;
  constexpr double shift = 0x1.8p52;  // added, it leaves the nearest integer in the lowest bits
  const double shifted = fused(x, log2e, shift);
  const double r = fused(shift - shifted, ln2, x);
  double p = 1.0 / 362880;
  p = fused(p, r, 1.0 / 40320);
  p = fused(p, r, 1.0 / 5040);
  p = fused(p, r, 1.0 / 720);
  p = fused(p, r, 1.0 / 120);
  p = fused(p, r, 1.0 / 24);
  p = fused(p, r, 1.0 / 6);
  p = fused(p, r, 0.5);
  p = fused(p, r, 1.0);
  p = fused(p, r, 1.0);
  const auto exponent = std::bit_cast<std::uint64_t>(shifted) << 52;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) + exponent);
}

inline double vector_exp(double x) { return elementwise::operations::op_exp(x); }
inline float vector_exp(float x) {
  // Beyond these bounds the result is 0 or infinite in f32.
  float bounded = x < -110.0f ? -110.0f : x;
  bounded = bounded > 100.0f ? 100.0f : bounded;
  const auto y = static_cast<float>(exp_f64(static_cast<double>(bounded)));
  return x == x ? y : x;
}

inline double vector_tanh(double x) { return elementwise::operations::op_tanh(x); }
inline float vector_tanh(float x) {
  const float magnitude = __builtin_fabsf(x);
  const float bounded = magnitude < 20.0f ? magnitude : 20.0f;
  const auto wide = static_cast<double>(bounded);
  const double e = exp_f64(2 * wide);
  // Near 0 the quotient cancels: there the series does.
  const double s = wide * wide;
  const double near = wide * fused(-s, fused(-s, 2.0 / 15, 1.0 / 3), 1);
  const double y = wide < 0.02 ? near : (e - 1) / (e + 1);
  return x == x ? __builtin_copysignf(static_cast<float>(y), x) : x;
}

inline double vector_erfc(double x) { return elementwise::operations::op_erfc(x); }
// erfc |x| = t · e^(p(t) − x²) with t = 2 / (2 + |x|); p is fitted for |x| up to 11, to 2e-10.
// Source of the form: Numerical Recipes, 6.2.2.
inline float vector_erfc(float x) {
  const float magnitude = __builtin_fabsf(x);
  const auto wide = static_cast<double>(magnitude < 11.0f ? magnitude : 11.0f);  // the rest is 0
  const double t = 2 / (2 + wide);
  double p = 0.18433041005941814;
  p = fused(p, t, -1.3617681473966152);
  p = fused(p, t, 4.357288119355383);
  p = fused(p, t, -7.802113148440863);
  p = fused(p, t, 8.43711920368219);
  p = fused(p, t, -5.663523460513185);
  p = fused(p, t, 2.607011408006503);
  p = fused(p, t, -1.0473042647731994);
  p = fused(p, t, 0.12738428500417645);
  p = fused(p, t, 0.04861205095020807);
  p = fused(p, t, 0.37870122467258027);
  p = fused(p, t, 0.9997679746869088);
  p = fused(p, t, -1.2655056551327952);
  const double beyond = t * exp_f64(fused(-wide, wide, p));
  const auto y = static_cast<float>(x < 0 ? 2 - beyond : beyond);
  return x == x ? y : x;
}

inline double vector_log(double x) { return elementwise::operations::op_log(x); }
// Source: x = 2^n · m with m in [√½, √2), log m = 2·atanh((m − 1)/(m + 1)), whose series is summed.
inline float vector_log(float x) {
  const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(x));
  const std::uint64_t from_root_half = bits - 0x3fe6a09e667f3bcdu;  // the distance from √½
  const std::int64_t n = static_cast<std::int64_t>(from_root_half) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(n) << 52));
  const double f = (m - 1) / (m + 1);
  const double s = f * f;
  double p = 1.0 / 13;
  p = fused(p, s, 1.0 / 11);
  p = fused(p, s, 1.0 / 9);
  p = fused(p, s, 1.0 / 7);
  p = fused(p, s, 1.0 / 5);
  p = fused(p, s, 1.0 / 3);
  p = fused(p, s, 1.0);
  const auto exponent = static_cast<double>(static_cast<std::int32_t>(n));
  auto y = static_cast<float>(fused(exponent, std::numbers::ln2, 2 * f * p));
  y = x == 0 ? -__builtin_inff() : y;
  y = x < 0 ? __builtin_nanf("") : y;
  return x < __builtin_inff() ? y : x;  // infinity and NaN are themselves
}

/// An element as a number. Bytes go through int, which says that a sign is meant.
template <class Number, class T>
inline Number number_from(T x) {
  if constexpr (std::is_same_v<T, std::int8_t>) {
    return static_cast<Number>(int{x});
  } else {
    return static_cast<Number>(x);
  }
}

/// A number as an element of a tensor: rounded to nearest; fp8 saturates; integers wrap.
template <class T, class Number>
inline T element_of(Number x) {
  return static_cast<T>(x);
}
template <>
inline f16 element_of<f16, float>(float x) {
  return f16(x);
}
template <>
inline bf16 element_of<bf16, float>(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const std::uint32_t nan = bits >> 16 & 0x8000u;
  bf16 y;
  y.bits = static_cast<std::uint16_t>(x == x ? rounded : nan | 0x7fc0u);
  return y;
}
template <>
inline e4m3 element_of<e4m3, float>(float x) {
  return e4m3(x > 448.0f ? 448.0f : x < -448.0f ? -448.0f : x);
}
template <>
inline e5m2 element_of<e5m2, float>(float x) {
  return e5m2(x > 57344.0f ? 57344.0f : x < -57344.0f ? -57344.0f : x);
}

}  // namespace
}  // namespace troupe::cpu
