#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

// Functions of cells, which are compiled for the processor that the including source is for.
namespace troupe::cpu::rnn {
namespace {

// eˣ with an error of 2 ulp, 0 below the smallest normal number. Two-part reduction by ln 2, then a
// polynomial on [−½ ln 2, ½ ln 2]. Source of the coefficients: the Cephes library, expf.
[[gnu::always_inline]] inline float exponential(float x) noexcept {
  constexpr float largest = 88.3762626647949F;
  constexpr float smallest = -87.3365447504019F;
  const float within = std::min(largest, std::max(smallest, x));  // smallest for NaN
  constexpr float to_integer = 12582912.F;  // 1.5 · 2²³: adding it rounds to integers
  const float power = (within * std::numbers::log2e_v<float> + to_integer) - to_integer;
  constexpr float ln_2_above = 0.693359375F;  // NOLINT(modernize-use-std-numbers)
  const float rest = (within - power * ln_2_above) - power * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * rest + 1.3981999507e-3F;
  p = p * rest + 8.3334519073e-3F;
  p = p * rest + 4.1665795894e-2F;
  p = p * rest + 1.6666665459e-1F;
  p = p * rest + 5.0000001201e-1F;
  p = p * rest * rest + rest + 1;
  const auto exponent = static_cast<std::int32_t>(power);
  const float scaled = p * std::bit_cast<float>((exponent + 127) << 23);
  return x < smallest ? 0.F : x > largest ? x * 1e38F : x == x ? scaled : x;
}
[[gnu::always_inline]] inline double exponential(double x) noexcept { return std::exp(x); }

template <class T>
[[gnu::always_inline]] inline T sigmoid(T x) noexcept {
  return 1 / (1 + exponential(-x));
}

// Near 0, where the difference would lose digits, a polynomial. Source: the Cephes library, tanhf.
[[gnu::always_inline]] inline float hyperbolic(float x) noexcept {
  const float square = x * x;
  float p = -5.70498872745e-3F;
  p = p * square + 2.06390887954e-2F;
  p = p * square - 5.37397155531e-2F;
  p = p * square + 1.33314422036e-1F;
  p = p * square - 3.33332819422e-1F;
  const float near = x + x * square * p;
  const float size = std::abs(x);
  const float far = std::copysign(1 - 2 / (exponential(2 * size) + 1), x);
  return size < 0.625F ? near : x == x ? far : x;
}
[[gnu::always_inline]] inline double hyperbolic(double x) noexcept { return std::tanh(x); }

}  // namespace
}  // namespace troupe::cpu::rnn
