#pragma once

// The loops of cells for the processor that the including source is compiled for, written so that
// the compiler vectorises them. It defines CELLS, the name of its set.

#include "libraries/dnn/cpu/rnn/cells.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>

namespace troupe::cpu::rnn {
namespace {

// eˣ with an error of 2 ulp, 0 below the smallest normal number. Two-part reduction by ln 2, then a
// polynomial on [−½ ln 2, ½ ln 2]. Source of the coefficients: the Cephes library, expf.
[[gnu::always_inline]] inline float exponential(float x) noexcept {
  constexpr float largest = 88.3762626647949F;
  constexpr float smallest = -87.3365447504019F;
  const float within = std::min(largest, std::max(smallest, x));  // smallest for NaN
  constexpr float to_integer = 12582912.F;  // 1.5 · 2²³: what is added to it is rounded to integers
  const float power = (within * 1.44269504088896341F + to_integer) - to_integer;
  const float rest = (within - power * 0.693359375F) - power * -2.12194440e-4F;
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

template <class T>
void relu(T* gates, T* h, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    gates[i] = gates[i] > 0 ? gates[i] : gates[i] == gates[i] ? T{0} : gates[i];
    h[i] = gates[i];
  }
}

template <class T>
void tanh_cell(T* gates, T* h, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    gates[i] = hyperbolic(gates[i]);
    h[i] = gates[i];
  }
}

template <class T>
void lstm(T* __restrict gates, const T* __restrict c_before, T* __restrict c, T* __restrict u,
          std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    const T i = sigmoid(gates[k]);
    const T f = sigmoid(gates[n + k]);
    const T g = hyperbolic(gates[2 * n + k]);
    const T o = sigmoid(gates[3 * n + k]);
    gates[k] = i;
    gates[n + k] = f;
    gates[2 * n + k] = g;
    gates[3 * n + k] = o;
    c[k] = f * c_before[k] + i * g;
    u[k] = o * hyperbolic(c[k]);
  }
}

template <class T>
void gru(T* __restrict gates, const T* __restrict q, const T* __restrict h_before, T* __restrict h,
         std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    const T r = sigmoid(gates[k]);
    const T z = sigmoid(gates[n + k]);
    const T fresh = hyperbolic(gates[2 * n + k] + r * q[k]);
    gates[k] = r;
    gates[n + k] = z;
    gates[2 * n + k] = fresh;
    h[k] = (1 - z) * fresh + z * h_before[k];
  }
}

template <class T>
void relu_backward(T* __restrict gates, const T* __restrict dh, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    gates[i] = gates[i] > 0 ? dh[i] : T{0};
}

template <class T>
void tanh_backward(T* __restrict gates, const T* __restrict dh, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    gates[i] = dh[i] * (1 - gates[i] * gates[i]);
}

template <class T>
void lstm_backward(T* __restrict gates, const T* __restrict c_before, const T* __restrict c,
                   const T* __restrict du, T* __restrict dc, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    const T i = gates[k];
    const T f = gates[n + k];
    const T g = gates[2 * n + k];
    const T o = gates[3 * n + k];
    const T flat = hyperbolic(c[k]);
    const T of_c = dc[k] + du[k] * o * (1 - flat * flat);
    gates[k] = of_c * g * i * (1 - i);
    gates[n + k] = of_c * c_before[k] * f * (1 - f);
    gates[2 * n + k] = of_c * i * (1 - g * g);
    gates[3 * n + k] = du[k] * flat * o * (1 - o);
    dc[k] = of_c * f;
  }
}

template <class T>
void gru_backward(T* __restrict gates, T* __restrict q, const T* __restrict h_before,
                  const T* __restrict dh, T* __restrict dh_before, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    const T r = gates[k];
    const T z = gates[n + k];
    const T fresh = gates[2 * n + k];
    const T of_n = dh[k] * (1 - z) * (1 - fresh * fresh);
    gates[k] = of_n * q[k] * r * (1 - r);
    gates[n + k] = dh[k] * (h_before[k] - fresh) * z * (1 - z);
    gates[2 * n + k] = of_n;
    q[k] = of_n * r;
    dh_before[k] = dh[k] * z;
  }
}

}  // namespace

template <class T>
const cells<T> cell_sets<T>::CELLS = {.relu = relu<T>,
                                      .tanh = tanh_cell<T>,
                                      .lstm = lstm<T>,
                                      .gru = gru<T>,
                                      .relu_backward = relu_backward<T>,
                                      .tanh_backward = tanh_backward<T>,
                                      .lstm_backward = lstm_backward<T>,
                                      .gru_backward = gru_backward<T>};
template const cells<float> cell_sets<float>::CELLS;
template const cells<double> cell_sets<double>::CELLS;

}  // namespace troupe::cpu::rnn
