#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/base/result.hpp>

#include <cusolverDn.h>

#include <string_view>

namespace troupe::cuda {

/// A lane's cuSOLVER handle, made when it is first needed. It enqueues on the lane's stream and
/// ends before that stream does: even queries of workspace sizes use the handle's stream.
struct cusolver_lane {
  cusolverDnHandle_t handle = nullptr;
  cusolverDnParams_t parameters = nullptr;
  syevjInfo_t jacobi_eigen = nullptr;
  gesvdjInfo_t jacobi_svd = nullptr;
  cudaStream_t stream = nullptr;
};

/// \errors `out_of_memory`; `device_fault` if the context is lost
[[nodiscard]] result<const cusolver_lane*> cusolver_of(lane& where);

/// Converts a status to success or to an error with its name and the call. If `stream` reports that
/// the context is lost, the error is `device_fault`, whatever cuSOLVER reports. Otherwise
/// ALLOC_FAILED is `out_of_memory`; NOT_SUPPORTED, IRS_NOT_SUPPORTED, ARCH_MISMATCH and
/// MATRIX_TYPE_NOT_SUPPORTED are `unsupported`; any other status is `library_error`.
[[nodiscard]] result<void> check(cusolverStatus_t status, std::string_view call,
                                 cudaStream_t stream);

}  // namespace troupe::cuda
