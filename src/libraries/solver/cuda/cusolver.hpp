#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/base/result.hpp>

#include <cusolverDn.h>

#include <string_view>

namespace troupe::cuda {

/// cuSOLVER on a lane: its handle, made when the lane first needs it, which enqueues on the lane's
/// stream. Ends with the lane, before its stream does: sizes of workspaces, too, are asked of a
/// handle that looks at its stream.
struct cusolver_lane {
  cusolverDnHandle_t handle = nullptr;
  cusolverDnParams_t parameters = nullptr;
  syevjInfo_t jacobi_eigen = nullptr;
  gesvdjInfo_t jacobi_svd = nullptr;
  cudaStream_t stream = nullptr;
};

/// \errors `out_of_memory`; `device_fault` when the context is lost
[[nodiscard]] result<const cusolver_lane*> cusolver_of(lane& where);

/// The error for a status, with its name and the call; success for success. Where `stream` says
/// that the context is lost, that is the error, whatever cuSOLVER called it: `device_fault`.
/// Otherwise ALLOC_FAILED is `out_of_memory`; NOT_SUPPORTED, IRS_NOT_SUPPORTED, ARCH_MISMATCH and
/// MATRIX_TYPE_NOT_SUPPORTED are `unsupported`; what is left, `library_error`.
[[nodiscard]] result<void> check(cusolverStatus_t status, std::string_view call,
                                 cudaStream_t stream);

}  // namespace troupe::cuda
