#pragma once

// The loops over lines, for the processor that the including source is compiled for. It defines
// KERNELS, the name of its set. Conversions are written so that loops of them can be vectorised,
// and here, because each source needs its own.

#include "libraries/dnn/cpu/lines/line_kernels.hpp"

#include <bit>
#include <concepts>
#include <cstdint>
#include <span>

namespace troupe::cpu {
namespace {

inline double widen(double x) noexcept { return x; }
inline float widen(float x) noexcept { return x; }
inline float widen(bf16 x) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}
inline float widen(f16 x) noexcept {
  const std::uint32_t bits = x.bits;
  // The exponent's bias by a product, which also makes subnormals normal.
  const auto magnitude = std::bit_cast<float>((bits & 0x7fffU) << 13);
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(magnitude * 0x1p112F);
  const std::uint32_t infinite = (bits & 0x7fffU) << 13 | 0x7f800000U;
  const std::uint32_t value = (bits & 0x7c00U) == 0x7c00U ? infinite : finite;
  return std::bit_cast<float>(value | (bits & 0x8000U) << 16);
}

inline void narrow(double x, double& to) noexcept { to = x; }
inline void narrow(float x, float& to) noexcept { to = x; }
inline void narrow(float x, bf16& to) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
  const std::uint32_t nan = bits >> 16 | 0x40U;
  to.bits = static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? nan : rounded);
}
inline void narrow(float x, f16& to) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t normal =
      (magnitude + 0xfffU + (magnitude >> 13 & 1U) - (std::uint32_t{112} << 23)) >> 13;
  // Added to ½, whose last bit is worth as much as a subnormal's.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  std::uint32_t value = magnitude < 0x38800000U ? subnormal : normal;
  value = magnitude >= 0x477ff000U ? 0x7c00U : value;
  value = magnitude > 0x7f800000U ? 0x7e00U : value;
  to.bits = static_cast<std::uint16_t>(value | (bits >> 16 & 0x8000U));
}

template <class T>
using real_of = typename line_kernels<T>::real;

/// Calls `f` with the step as a constant if there is a loop for that step.
template <class F>
[[gnu::always_inline]] inline void with_step(std::int64_t step, F f) {
  if (step == 1) {
    f(std::integral_constant<std::int64_t, 1>());
  } else if (step == 2) {
    f(std::integral_constant<std::int64_t, 2>());
  } else {
    f(step);
  }
}

template <class T>
void load(const T* x, std::int64_t step, std::int64_t n, real_of<T>* to) {
  with_step(step, [=](auto s) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < n; ++j)
      to[j] = widen(x[j * s]);
  });
}
template <class T>
void load_from(const T* x, std::int64_t step, std::int64_t n, real_of<T> origin, real_of<T>* to) {
  with_step(step, [=](auto s) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < n; ++j)
      to[j] = widen(x[j * s]) - origin;
  });
}
template <class T>
void store(const real_of<T>* from, std::int64_t n, T* y, std::int64_t step) {
  with_step(step, [=](auto s) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < n; ++j)
      narrow(from[j], y[j * s]);
  });
}

template <class T>
void divide(const real_of<T>* sums, const channel_numbers<real_of<T>>& by, real_of<T> lines,
            std::int64_t n, T* y, std::int64_t step) {
  with_step(step, [=](auto s) {
    const auto run = [=](auto channel) {
#pragma GCC ivdep
      for (std::int64_t j = 0; j < n; ++j)
        narrow(sums[j] / (lines * by.first[j * channel]), y[j * s]);
    };
    if (by.step == 0) {
      run(std::integral_constant<std::int64_t, 0>());
    } else {
      run(std::integral_constant<std::int64_t, 1>());
    }
  });
}
template <class T>
void store_pairs(const real_of<T>* first, const real_of<T>* second, std::int64_t n, T* y,
                 std::int64_t step) {
  const auto run = [=](auto s) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < n / 2; ++j) {
      narrow(first[j], y[2 * j * s]);
      narrow(second[j], y[(2 * j + 1) * s]);
    }
  };
  if (step == 1) {
    run(std::integral_constant<std::int64_t, 1>());
  } else {
    run(step);
  }
  if (n % 2 != 0) narrow(first[n / 2], y[(n - 1) * step]);
}
// NOLINTNEXTLINE(readability-non-const-parameter): it is written to in the lambda
inline void store_places(const std::int32_t* from, std::int64_t n, std::uint8_t* to,
                         std::int64_t step) {
  with_step(step, [=](auto s) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < n; ++j)
      to[j * s] = static_cast<std::uint8_t>(from[j]);
  });
}

template <class T>
void take_max(std::span<const line_part<T>> parts, std::int64_t step, real_of<T>* best) {
  with_step(step, [=](auto s) {
    for (const line_part<T>& part : parts) {
      const T* const x = part.x;
      real_of<T>* const to = best + part.to;
#pragma GCC ivdep
      for (std::int64_t j = 0; j < part.n; ++j) {
        const real_of<T> value = widen(x[j * s]);
        const real_of<T> old = to[j];
        to[j] = !(value <= old) && old == old ? value : old;
      }
    }
  });
}
template <class T>
void take_max_at(std::span<const line_part<T>> parts, std::int64_t step, real_of<T>* best,
                 std::int32_t* places) {
  with_step(step, [=](auto s) {
    for (const line_part<T>& part : parts) {
      const T* const x = part.x;
      const std::int32_t place = part.place;
      real_of<T>* const to = best + part.to;
      std::int32_t* const to_places = places + part.to;
#pragma GCC ivdep
      for (std::int64_t j = 0; j < part.n; ++j) {
        const real_of<T> value = widen(x[j * s]);
        const real_of<T> old = to[j];
        const bool taken = !(value <= old) && old == old;
        to[j] = taken ? value : old;
        to_places[j] = taken ? place : to_places[j];
      }
    }
  });
}
template <class T>
void add(const T* x, std::int64_t step, std::int64_t n, real_of<T> factor, real_of<T>* sums) {
  with_step(step, [=](auto s) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < n; ++j)
      sums[j] += factor * widen(x[j * s]);
  });
}
template <class T>
void add_parts(std::span<const line_part<T>> parts, std::int64_t step, real_of<T>* sums) {
  with_step(step, [=](auto s) {
    for (const line_part<T>& part : parts) {
      const T* const x = part.x;
      const real_of<T> factor = part.factor;
      real_of<T>* const to = sums + part.to;
#pragma GCC ivdep
      for (std::int64_t j = 0; j < part.n; ++j)
        to[j] += factor * widen(x[j * s]);
    }
  });
}
template <class T, class Place>
void add_where(std::span<const line_part<T>> parts, std::int64_t step, std::int64_t places_step,
               real_of<T>* sums) {
  const auto add_with = [=](auto s, auto p) {
    for (const line_part<T>& part : parts) {
      const T* const x = part.x;
      const auto* const places = static_cast<const Place*>(part.places);
      const auto wanted = static_cast<Place>(part.place);
      real_of<T>* const to = sums + part.to;
#pragma GCC ivdep
      for (std::int64_t j = 0; j < part.n; ++j)
        to[j] += places[j * p] == wanted ? widen(x[j * s]) : real_of<T>{0};
    }
  };
  constexpr std::integral_constant<std::int64_t, 1> one;
  if (step == 1 && places_step == 1) {
    add_with(one, one);
  } else {
    add_with(step, places_step);
  }
}

template <class Real>
Real sum(const Real* x, std::int64_t n) {
  Real all = 0;
  for (std::int64_t j = 0; j < n; ++j)
    all += x[j];
  return all;
}
template <class Real>
Real squares(const Real* x, std::int64_t n, Real mean) {
  Real all = 0;
  for (std::int64_t j = 0; j < n; ++j)
    all += (x[j] - mean) * (x[j] - mean);
  return all;
}
template <class Real>
sum_pair<Real> products(const Real* dy, const Real* x, std::int64_t n) {
  Real all = 0;
  Real product = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    all += dy[j];
    product += dy[j] * x[j];
  }
  return {.sum = all, .product = product};
}
template <class T>
void add_moments(const T* x, std::int64_t n, const real_of<T>* origin, real_of<T>* sums,
                 real_of<T>* squares) {
#pragma GCC ivdep
  for (std::int64_t j = 0; j < n; ++j) {
    const real_of<T> apart = widen(x[j]) - origin[j];
    sums[j] += apart;
    squares[j] += apart * apart;
  }
}
template <class T>
void add_products(const T* dy, const T* x, std::int64_t n, const real_of<T>* mean, real_of<T>* sums,
                  real_of<T>* products) {
#pragma GCC ivdep
  for (std::int64_t j = 0; j < n; ++j) {
    const real_of<T> gradient = widen(dy[j]);
    sums[j] += gradient;
    products[j] += gradient * (widen(x[j]) - mean[j]);
  }
}

template <class T>
void normalize(const T* x, std::int64_t x_step, std::int64_t n,
               const channel_numbers<real_of<T>>& mean, const channel_numbers<real_of<T>>& scale,
               const channel_numbers<real_of<T>>& bias, T* y, std::int64_t y_step) {
  const auto run = [=](auto from, auto channel, auto to) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t c = j * channel;
      narrow((widen(x[j * from]) - mean.first[c]) * scale.first[c] + bias.first[c], y[j * to]);
    }
  };
  constexpr std::integral_constant<std::int64_t, 0> none;
  constexpr std::integral_constant<std::int64_t, 1> one;
  if (x_step == 1 && y_step == 1 && mean.step == 0) {
    run(one, none, one);
  } else if (x_step == 1 && y_step == 1) {
    run(one, one, one);
  } else {
    run(x_step, mean.step, y_step);
  }
}
template <class T>
void differentiate(const T* x, std::int64_t x_step, const T* dy, std::int64_t dy_step,
                   std::int64_t n, const channel_numbers<real_of<T>>& mean,
                   const channel_numbers<real_of<T>>& average,
                   const channel_numbers<real_of<T>>& slope,
                   const channel_numbers<real_of<T>>& scale, T* dx, std::int64_t dx_step) {
  const auto run = [=](auto from, auto gradient, auto channel, auto to) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t c = j * channel;
      const real_of<T> from_mean = widen(x[j * from]) - mean.first[c];
      narrow((widen(dy[j * gradient]) - average.first[c] - from_mean * slope.first[c]) *
                 scale.first[c],
             dx[j * to]);
    }
  };
  constexpr std::integral_constant<std::int64_t, 0> none;
  constexpr std::integral_constant<std::int64_t, 1> one;
  if (x_step == 1 && dy_step == 1 && dx_step == 1 && mean.step == 0) {
    run(one, one, none, one);
  } else if (x_step == 1 && dy_step == 1 && dx_step == 1) {
    run(one, one, one, one);
  } else {
    run(x_step, dy_step, mean.step, dx_step);
  }
}

}  // namespace
}  // namespace troupe::cpu

#include "libraries/dnn/cpu/lines/window_kernels_for.hpp"

namespace troupe::cpu {

template <class T>
const line_kernels<T> line_kernel_sets<T>::KERNELS = {
    .load = cpu::load<T>,
    .load_from = cpu::load_from<T>,
    .store = cpu::store<T>,
    .divide = cpu::divide<T>,
    .store_pairs = cpu::store_pairs<T>,
    .store_places = cpu::store_places,
    .take_max = cpu::take_max<T>,
    .take_max_at = cpu::take_max_at<T>,
    .add = cpu::add<T>,
    .add_parts = cpu::add_parts<T>,
    .add_where = cpu::add_where<T, std::uint8_t>,
    .add_where_wide = cpu::add_where<T, std::int32_t>,
    .max_of_lines = cpu::max_of_lines<T, std::uint8_t>,
    .max_of_lines_wide = cpu::max_of_lines<T, std::int32_t>,
    .sum_of_lines = cpu::sum_of_lines<T>,
    .where_of_lines = cpu::where_of_lines<T, std::uint8_t>,
    .where_of_lines_wide = cpu::where_of_lines<T, std::int32_t>,
    .sum = cpu::sum<real_of<T>>,
    .squares = cpu::squares<real_of<T>>,
    .products = cpu::products<real_of<T>>,
    .add_moments = cpu::add_moments<T>,
    .add_products = cpu::add_products<T>,
    .normalize = cpu::normalize<T>,
    .differentiate = cpu::differentiate<T>,
};
template const line_kernels<double> line_kernel_sets<double>::KERNELS;
template const line_kernels<float> line_kernel_sets<float>::KERNELS;
template const line_kernels<f16> line_kernel_sets<f16>::KERNELS;
template const line_kernels<bf16> line_kernel_sets<bf16>::KERNELS;

}  // namespace troupe::cpu
