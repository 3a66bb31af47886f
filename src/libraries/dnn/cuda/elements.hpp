#pragma once

#include <troupe/tensor/dtype.hpp>

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#include "libraries/memory/cuda/small_floats.cuh"
#define KERNEL_FUNCTION __device__ __forceinline__
#else
#define KERNEL_FUNCTION inline
#endif

/// Elements of a type that is known at run time, computed in f64 or f32. A host compiler accepts
/// this file, too, so that tests run kernels without a GPU.
namespace troupe::cuda {

template <class Real>
[[nodiscard]] KERNEL_FUNCTION Real element(const std::byte* at, [[maybe_unused]] dtype type,
                                           std::int64_t number) {
  if constexpr (sizeof(Real) == sizeof(double)) {
    return reinterpret_cast<const double*>(at)[number];
  } else {
#ifndef __CUDACC__
    const auto widened = [](auto x) { return static_cast<float>(x); };
#endif
    if (type == dtype::f32) return reinterpret_cast<const float*>(at)[number];
    if (type == dtype::f16) return widened(reinterpret_cast<const f16*>(at)[number]);
    return widened(reinterpret_cast<const bf16*>(at)[number]);
  }
}
template <class Real>
KERNEL_FUNCTION void store_element(std::byte* at, [[maybe_unused]] dtype type, std::int64_t number,
                                   Real value) {
  if constexpr (sizeof(Real) == sizeof(double)) {
    reinterpret_cast<double*>(at)[number] = value;
  } else if (type == dtype::f32) {
    reinterpret_cast<float*>(at)[number] = value;
  } else {
#ifdef __CUDACC__
    if (type == dtype::f16) reinterpret_cast<f16*>(at)[number] = rounded<f16>(value);
    if (type == dtype::bf16) reinterpret_cast<bf16*>(at)[number] = rounded<bf16>(value);
#else
    if (type == dtype::f16) reinterpret_cast<f16*>(at)[number] = f16(value);
    if (type == dtype::bf16) reinterpret_cast<bf16*>(at)[number] = bf16(value);
#endif
  }
}

}  // namespace troupe::cuda
