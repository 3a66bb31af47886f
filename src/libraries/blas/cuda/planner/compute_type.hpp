#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/tensor/dtype.hpp>

#include <cublas_api.h>
#include <cuda_runtime_api.h>

namespace troupe::cuda {

/// True if the device multiplies f32 as nine products of bf16. Source: cuBLAS documentation,
/// "Floating Point Emulation": compute capability 10.
[[nodiscard]] inline bool has_bf16x9() noexcept {
  int device = 0;
  int major = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         major == 10;
}

/// The math mode of a handle for classic routines, and the compute type of an Ex routine and of
/// cuBLASLt on f32 and c64. A mode that the device lacks is `strict`.
///
/// `strict` is cuBLAS's default, not its pedantic mode: the default keeps at least the precision
/// and range of the type in every product and sum, which is what the request asks for, and may do
/// so on tensor cores, which for f64 is twice as fast. The default also allows intermediate sums in
/// f16 and bf16 if c is of that type; this is forbidden in every mode.
[[nodiscard]] inline cublasMath_t math_for(blas::math_mode mode) noexcept {
  unsigned chosen = CUBLAS_DEFAULT_MATH;
  if (mode == blas::math_mode::tf32) chosen = CUBLAS_TF32_TENSOR_OP_MATH;
  if (mode == blas::math_mode::bf16x9 && has_bf16x9()) chosen = CUBLAS_FP32_EMULATED_BF16X9_MATH;
  return static_cast<cublasMath_t>(chosen | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
}
[[nodiscard]] inline cublasComputeType_t compute_for(blas::math_mode mode) noexcept {
  if (mode == blas::math_mode::tf32) return CUBLAS_COMPUTE_32F_FAST_TF32;
  if (mode == blas::math_mode::bf16x9 && has_bf16x9()) return CUBLAS_COMPUTE_32F_EMULATED_16BFX9;
  return CUBLAS_COMPUTE_32F;
}

}  // namespace troupe::cuda
