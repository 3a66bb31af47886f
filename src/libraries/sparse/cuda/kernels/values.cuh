#pragma once

#include "libraries/blas/cuda/kernels/arithmetic.cuh"
#include "libraries/sparse/shared/pattern.hpp"

#include <cstdint>

/// Shared by the kernels on compressed rows.
namespace troupe::cuda {

using place = unsigned long long;  // the 64-bit type of atomicMin
static_assert(sizeof(place) == sizeof(std::uint64_t));
inline constexpr place nowhere = ~place{0};

/// The slots of a major; empty if its offsets are wrong.
struct slot_range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
__device__ inline slot_range range_of(const sparse::pattern& p, std::int64_t major) {
  const std::int64_t begin = p.offsets[major];
  const std::int64_t end = p.offsets[major + 1];
  const bool good = begin >= 0 && begin <= end && end <= p.slots && (major > 0 || begin == 0) &&
                    (major + 1 < p.majors || end == p.slots);
  return good ? slot_range{begin, end} : slot_range{};
}
__device__ inline bool is_inside(std::int64_t i, std::int64_t extent) {
  return i >= 0 && i < extent;
}

__device__ inline bool is_zero(float v) { return v == 0; }
__device__ inline bool is_zero(double v) { return v == 0; }
template <class R>
__device__ inline bool is_zero(complex_value<R> v) {
  return v.re == 0 && v.im == 0;
}

template <class R>
__device__ inline complex_value<R> operator/(complex_value<R> a, complex_value<R> b) {
  // Scales by the larger part, so that no intermediate value overflows. Source: R. L. Smith, 1962.
  if (abs(b.re) >= abs(b.im)) {
    const R ratio = b.im / b.re;
    const R whole = b.re + b.im * ratio;
    return {(a.re + a.im * ratio) / whole, (a.im - a.re * ratio) / whole};
  }
  const R ratio = b.re / b.im;
  const R whole = b.re * ratio + b.im;
  return {(a.re * ratio + a.im) / whole, (a.im * ratio - a.re) / whole};
}

__device__ inline float from_lane(float v, int lane) { return __shfl_sync(~0u, v, lane); }
__device__ inline double from_lane(double v, int lane) { return __shfl_sync(~0u, v, lane); }
template <class R>
__device__ inline complex_value<R> from_lane(complex_value<R> v, int lane) {
  return {__shfl_sync(~0u, v.re, lane), __shfl_sync(~0u, v.im, lane)};
}
__device__ inline float from_lane_below(float v, int step) {
  return __shfl_up_sync(~0u, v, static_cast<unsigned>(step));
}
__device__ inline double from_lane_below(double v, int step) {
  return __shfl_up_sync(~0u, v, static_cast<unsigned>(step));
}
template <class R>
__device__ inline complex_value<R> from_lane_below(complex_value<R> v, int step) {
  return {from_lane_below(v.re, step), from_lane_below(v.im, step)};
}
__device__ inline float from_lane_above(float v, int step) {
  return __shfl_down_sync(~0u, v, static_cast<unsigned>(step));
}
__device__ inline double from_lane_above(double v, int step) {
  return __shfl_down_sync(~0u, v, static_cast<unsigned>(step));
}
template <class R>
__device__ inline complex_value<R> from_lane_above(complex_value<R> v, int step) {
  return {from_lane_above(v.re, step), from_lane_above(v.im, step)};
}
/// The sum over a warp, in lane 0.
template <class W>
__device__ inline W warp_sum(W v) {
  for (int step = 16; step > 0; step /= 2)
    v = v + from_lane_above(v, step);
  return v;
}

/// Loads an element that is read once, so it need not stay in the caches.
template <class D>
__device__ inline D streamed(const D* from) {
  if constexpr (sizeof(D) <= 8 && requires { __ldcs(from); }) {
    return __ldcs(from);
  } else if constexpr (sizeof(D) == 8) {
    const float2 v = __ldcs(reinterpret_cast<const float2*>(from));
    return {v.x, v.y};
  } else {
    const double2 v = __ldcs(reinterpret_cast<const double2*>(from));
    return {v.x, v.y};
  }
}

template <class R>
__device__ inline void add_atomically(R* to, R v) {
  atomicAdd(to, v);
}
template <class R>
__device__ inline void add_atomically(complex_value<R>* to, complex_value<R> v) {
  atomicAdd(&to->re, v.re);
  atomicAdd(&to->im, v.im);
}

}  // namespace troupe::cuda
