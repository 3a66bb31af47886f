#pragma once

#include "backend/cuda/context/lane.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/planner/compute_type.hpp"

#include <troupe/base/result.hpp>
#include <troupe/blas/modes.hpp>

#include <cublas_v2.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace troupe::cuda {

/// The cuBLAS handle of a lane, made when the lane first needs it: it enqueues on the lane's
/// stream, has a workspace of its own (so that cuBLAS never allocates, which would wait for the
/// device), and takes factors from host memory, at the call.
///
/// Between requests a handle has the modes that it was made with: host pointers, no atomics,
/// default math. The functions below change one of them for one call.
///
/// \errors `out_of_memory`; `device_fault` when the context is lost
[[nodiscard]] result<cublasHandle_t> cublas_of(lane& where);

/// The workspace of that handle, for a call in place of one with the handle. \errors the same
[[nodiscard]] result<std::span<std::byte>> cublas_workspace_of(lane& where);

/// The error for a status, with its name and the call; success for success. If the stream of
/// `handle` says that the context is lost, the error is `device_fault`, whatever cuBLAS called it.
/// Otherwise ALLOC_FAILED is `out_of_memory`; NOT_SUPPORTED and ARCH_MISMATCH are `unsupported`;
/// all others are `library_error`.
[[nodiscard]] result<void> check(cublasStatus_t status, std::string_view call,
                                 cublasHandle_t handle = nullptr);

namespace detail {

template <class Set, class Mode, class Call>
[[nodiscard]] result<void> with(Set set, std::string_view name, cublasHandle_t handle, Mode during,
                                Mode after, Call& call) {
  TRY(check(set(handle, during), name, handle));
  result<void> called = call();
  auto restored = check(set(handle, after), name, handle);
  return called ? std::move(restored) : std::move(called);
}

}  // namespace detail

/// Runs `call`, which answers a result<void>, while factors and results are device addresses.
template <class Call>
[[nodiscard]] result<void> with_device_scalars(cublasHandle_t handle, Call call) {
  return detail::with(cublasSetPointerMode, "cublasSetPointerMode", handle,
                      CUBLAS_POINTER_MODE_DEVICE, CUBLAS_POINTER_MODE_HOST, call);
}

/// Runs `call` while sums may be formed by atomics: faster, but not the same bits every time.
template <class Call>
[[nodiscard]] result<void> with_atomics(cublasHandle_t handle, Call call) {
  return detail::with(cublasSetAtomicsMode, "cublasSetAtomicsMode", handle, CUBLAS_ATOMICS_ALLOWED,
                      CUBLAS_ATOMICS_NOT_ALLOWED, call);
}

/// Runs `call` while f32 and c64 are multiplied in `mode`.
template <class Call>
[[nodiscard]] result<void> with_math(cublasHandle_t handle, blas::math_mode mode, Call call) {
  if (mode == blas::math_mode::strict) return call();
  return detail::with(cublasSetMathMode, "cublasSetMathMode", handle, math_for(mode),
                      math_for(blas::math_mode::strict), call);
}

}  // namespace troupe::cuda
