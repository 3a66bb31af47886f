#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <numbers>

/// Functions of f64, of exactly rounded operations alone (see philox.hpp): so a processor and a GPU
/// give the same bits. Their errors are a few units in the last place, far below what any sample
/// could show.
namespace troupe::rng {

constexpr double square_root(double x) noexcept {
  if (x == 0) return x;
#ifdef __CUDA_ARCH__
  return __dsqrt_rn(x);
#else
  return __builtin_sqrt(x);
#endif
}

/// 2^exponent, for −1022 … 1023.
constexpr double power_of_two(int exponent) noexcept {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

namespace detail {

// ln 2 in two parts; products of the first with integers below 2^20 are exact.
inline constexpr double ln2_high = 0x1.62e42fee00000p-1;  // NOLINT(modernize-use-std-numbers)
inline constexpr double ln2_low = 0x1.a39ef35793c76p-33;

/// The polynomial with these coefficients, the constant first.
template <std::size_t Count>
constexpr double polynomial(const double (&coefficients)[Count], double x) noexcept {
  double sum = coefficients[Count - 1];
  for (std::size_t i = Count - 1; i > 0; --i)
    sum = sum * x + coefficients[i - 1];
  return sum;
}

}  // namespace detail

/// ln x, for a positive x that is not subnormal: x = 2^e·m, ln m = 2·artanh((m − 1) / (m + 1)).
constexpr double logarithm(double x) noexcept {
  constexpr double root_of_two = std::numbers::sqrt2;
  constexpr double series[] = {0,        1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9, 1.0 / 11,
                               1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  auto part = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFu) | std::uint64_t{1023} << 52);
  if (part > root_of_two) {
    part *= 0.5;
    ++exponent;
  }
  const double ratio = (part - 1) / (part + 1);
  const double square = ratio * ratio;
  const double twice = 2 * ratio;
  const double rest = twice * detail::polynomial(series, square);
  return exponent * detail::ln2_high + (twice + (rest + exponent * detail::ln2_low));
}

/// e^x.
constexpr double exponential_of(double x) noexcept {
  constexpr double series[] = {1,
                               1,
                               1.0 / 2,
                               1.0 / 6,
                               1.0 / 24,
                               1.0 / 120,
                               1.0 / 720,
                               1.0 / 5040,
                               1.0 / 40320,
                               1.0 / 362880,
                               1.0 / 3628800,
                               1.0 / 39916800,
                               1.0 / 479001600,
                               1.0 / 6227020800.0};
  constexpr double reciprocal_of_ln2 = std::numbers::log2e;
  if (x > 710) return 2 * power_of_two(1023);  // infinity
  if (x < -746) return 0;
  const int exponent = static_cast<int>(x * reciprocal_of_ln2 + (x < 0 ? -0.5 : 0.5));
  const double rest = (x - exponent * detail::ln2_high) - exponent * detail::ln2_low;
  const int half = exponent / 2;  // in two steps: the result may be subnormal
  return detail::polynomial(series, rest) * power_of_two(half) * power_of_two(exponent - half);
}

/// tan(πx), for −1/2 < x < 1/2.
constexpr double tangent_of_pi(double x) noexcept {
  constexpr double pi = std::numbers::pi;
  constexpr double sine[] = {1,
                             -1.0 / 6,
                             1.0 / 120,
                             -1.0 / 5040,
                             1.0 / 362880,
                             -1.0 / 39916800,
                             1.0 / 6227020800.0,
                             -1.0 / 1307674368000.0,
                             1.0 / 355687428096000.0};
  constexpr double cosine[] = {1,
                               -1.0 / 2,
                               1.0 / 24,
                               -1.0 / 720,
                               1.0 / 40320,
                               -1.0 / 3628800,
                               1.0 / 479001600,
                               -1.0 / 87178291200.0,
                               1.0 / 20922789888000.0};
  const double size = x < 0 ? -x : x;
  const bool steep = size > 0.25;
  const double angle = pi * (steep ? 0.5 - size : size);
  const double square = angle * angle;
  const double up = angle * detail::polynomial(sine, square);
  const double across = detail::polynomial(cosine, square);
  const double tangent = steep ? across / up : up / across;
  return x < 0 ? -tangent : tangent;
}

/// The x up to which a standard normal variable is with probability p, 0 < p < 1. Source: M. J.
/// Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution", 1988, PPND16.
constexpr double normal_quantile(double p) noexcept {
  constexpr double a[] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                          1.9715909503065514427e+3, 1.3731693765509461125e+4,
                          4.5921953931549871457e+4, 6.7265770927008700853e+4,
                          3.3430575583588128105e+4, 2.5090809287301226727e+3};
  constexpr double b[] = {1.0,
                          4.2313330701600911252e+1,
                          6.8718700749205790830e+2,
                          5.3941960214247511077e+3,
                          2.1213794301586595867e+4,
                          3.9307895800092710610e+4,
                          2.8729085735721942674e+4,
                          5.2264952788528545610e+3};
  constexpr double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                          5.76949722146069140550e0,  3.64784832476320460504e0,
                          1.27045825245236838258e0,  2.41780725177450611770e-1,
                          2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double d[] = {1.0,
                          2.05319162663775882187e0,
                          1.67638483018380384940e0,
                          6.89767334985100004550e-1,
                          1.48103976427480074590e-1,
                          1.51986665636164571966e-2,
                          5.47593808499534494600e-4,
                          1.05075007164441684324e-9};
  constexpr double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                          1.78482653991729133580e0,  2.96560571828504891230e-1,
                          2.65321895265761230930e-2, 1.24266094738807843860e-3,
                          2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr double f[] = {1.0,
                          5.99832206555887937690e-1,
                          1.36929880922735805310e-1,
                          1.48753612908506148525e-2,
                          7.86869131145613259100e-4,
                          1.84631831751005468180e-5,
                          1.42151175831644588870e-7,
                          2.04426310338993978564e-15};
  using detail::polynomial;
  const double q = p - 0.5;
  if (q >= -0.425 && q <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
  }
  const double tail = q < 0 ? p : 1 - p;
  const double r = square_root(-logarithm(tail));
  const double x = r <= 5 ? polynomial(c, r - 1.6) / polynomial(d, r - 1.6)
                          : polynomial(e, r - 5) / polynomial(f, r - 5);
  return q < 0 ? -x : x;
}

/// ln k!, k ≥ 0. Source: Stirling's series.
constexpr double logarithm_of_factorial(double k) noexcept {
  constexpr double half_ln_two_pi = 0.91893853320467274178;
  if (k < 10) {
    double product = 1;
    for (double i = 2; i <= k; i += 1)
      product *= i;
    return logarithm(product);
  }
  const double x = k + 1;
  const double reciprocal = 1 / x;
  const double square = reciprocal * reciprocal;
  return (x - 0.5) * logarithm(x) - x + half_ln_two_pi +
         reciprocal * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260)));
}

}  // namespace troupe::rng
