#pragma once

#include <troupe/tensor/small_floats.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <complex>

/// The element types of host code as kernels compute with them.
namespace troupe::cuda {

/// std::complex without its repairs of infinities, which BLAS does not make either.
template <class R>
struct alignas(2 * sizeof(R)) complex_value {
  R re, im;
};

template <class R>
__device__ inline complex_value<R> operator+(complex_value<R> a, complex_value<R> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R>
__device__ inline complex_value<R> operator-(complex_value<R> a, complex_value<R> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class R>
__device__ inline complex_value<R> operator*(complex_value<R> a, complex_value<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class R>
__device__ inline complex_value<R> operator*(R a, complex_value<R> b) {
  return {a * b.re, a * b.im};
}

__device__ inline float conjugate_of(float v) { return v; }
__device__ inline double conjugate_of(double v) { return v; }
template <class R>
__device__ inline complex_value<R> conjugate_of(complex_value<R> v) {
  return {v.re, -v.im};
}

/// The type that stands for T in a kernel; same size and layout.
template <class T>
struct device_type {
  using type = T;
};
template <class R>
struct device_type<std::complex<R>> {
  using type = complex_value<R>;
};
template <>
struct device_type<f16> {
  using type = __half;
};
template <>
struct device_type<bf16> {
  using type = __nv_bfloat16;
};
template <class T>
using device_t = typename device_type<T>::type;

template <class T>
[[nodiscard]] device_t<T>* on_device(T* p) noexcept {
  static_assert(sizeof(T) == sizeof(device_t<T>));
  return reinterpret_cast<device_t<T>*>(p);
}
template <class T>
[[nodiscard]] const device_t<T>* on_device(const T* p) noexcept {
  return reinterpret_cast<const device_t<T>*>(p);
}
[[nodiscard]] inline float value_of(float v) noexcept { return v; }
[[nodiscard]] inline double value_of(double v) noexcept { return v; }
template <class R>
[[nodiscard]] complex_value<R> value_of(std::complex<R> v) noexcept {
  return {v.real(), v.imag()};
}

/// An element widened to what is computed in, and back.
template <class T>
__device__ inline T widened(T v) {
  return v;
}
__device__ inline float widened(__half v) { return __half2float(v); }
__device__ inline float widened(__nv_bfloat16 v) { return __bfloat162float(v); }

template <class T>
struct narrowed {
  __device__ static T from(T v) { return v; }
};
template <>
struct narrowed<__half> {
  __device__ static __half from(float v) { return __float2half_rn(v); }
};
template <>
struct narrowed<__nv_bfloat16> {
  __device__ static __nv_bfloat16 from(float v) { return __float2bfloat16_rn(v); }
};

}  // namespace troupe::cuda
