#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/blas/cuda/kernels/vectors.hpp"

#include <troupe/tensor/scalar.hpp>

#include <cstddef>
#include <cstdint>

/// Reductions that cuBLAS lacks or computes in another way, and kernels that store results.
namespace troupe::cuda {

/// *to = *from, an f32, f64, c64 or c128 in device memory; `to` is a reply.
template <class T>
[[nodiscard]] result<void> store_number(const lane& where, const T* from, scalar* to);

/// *to = *from − 1: cuBLAS counts from 1. `from` and `to` may be one place; 0, which only NaNs can
/// give, stays 0.
[[nodiscard]] result<void> store_index(const lane& where, const std::int64_t* from,
                                       std::int64_t* to);

/// Bytes of device memory that a reduction works in.
inline constexpr std::size_t reduction_bytes = 1024 * sizeof(double);

/// Σ xᵢ · yᵢ of f16 or bf16. To `result` as an element where it is given, or else to `reply` as it
/// was accumulated: cuBLAS would round to the type of x first.
template <class Half>
[[nodiscard]] result<void> dot_of_halves(lane& where, strided<const Half> x, strided<const Half> y,
                                         Half* result, scalar* reply);

/// first + Σ xᵢ · yᵢ, accumulated in f64 and rounded to Result, f32 or f64.
template <class Result>
[[nodiscard]] result<void> dot_in_f64(lane& where, strided<const float> x, strided<const float> y,
                                      double first, Result* result, scalar* reply);

/// √Σ |xᵢ|² of f16, bf16, f32 or c64, accumulated in f64, where no square of these overflows or
/// underflows: to cuBLAS, subnormals of f32 are 0. A reply for halves is not rounded to their type.
template <class T, class Result>
[[nodiscard]] result<void> nrm2_in_f64(lane& where, strided<const T> x, Result* result,
                                       scalar* reply);

/// The same of f64 or c128: sums of large and of small squares are kept apart, scaled.
template <class T>
[[nodiscard]] result<void> nrm2_scaled(lane& where, strided<const T> x, double* result,
                                       scalar* reply);

}  // namespace troupe::cuda
