#pragma once

#include <troupe/core/error.hpp>

#include <array>
#include <string_view>

namespace troupe::cuda {

/// A status of cuBLASLt. Source: cublas_api.h, cublasStatus_t.
struct cublaslt_status {
  int number;
  std::string_view name;
  errc kind;
};

inline constexpr std::array cublaslt_statuses{
    cublaslt_status{1, "CUBLAS_STATUS_NOT_INITIALIZED", errc::library_error},
    cublaslt_status{3, "CUBLAS_STATUS_ALLOC_FAILED", errc::out_of_memory},
    cublaslt_status{7, "CUBLAS_STATUS_INVALID_VALUE", errc::library_error},
    cublaslt_status{8, "CUBLAS_STATUS_ARCH_MISMATCH", errc::unsupported},
    cublaslt_status{11, "CUBLAS_STATUS_MAPPING_ERROR", errc::library_error},
    cublaslt_status{13, "CUBLAS_STATUS_EXECUTION_FAILED", errc::library_error},
    cublaslt_status{14, "CUBLAS_STATUS_INTERNAL_ERROR", errc::library_error},
    cublaslt_status{15, "CUBLAS_STATUS_NOT_SUPPORTED", errc::unsupported},
    cublaslt_status{16, "CUBLAS_STATUS_LICENSE_ERROR", errc::library_error},
};

}  // namespace troupe::cuda
