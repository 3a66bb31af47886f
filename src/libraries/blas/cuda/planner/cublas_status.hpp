#pragma once

#include "backend/cuda/context/vendor_status.hpp"

#include <array>

namespace troupe::cuda {

/// The statuses of cuBLAS and cuBLASLt. Source: cublas_api.h, cublasStatus_t.
inline constexpr std::array cublas_statuses{
    vendor_status{1, "CUBLAS_STATUS_NOT_INITIALIZED", errc::library_error},
    vendor_status{3, "CUBLAS_STATUS_ALLOC_FAILED", errc::out_of_memory},
    vendor_status{7, "CUBLAS_STATUS_INVALID_VALUE", errc::library_error},
    vendor_status{8, "CUBLAS_STATUS_ARCH_MISMATCH", errc::unsupported},
    vendor_status{11, "CUBLAS_STATUS_MAPPING_ERROR", errc::library_error},
    vendor_status{13, "CUBLAS_STATUS_EXECUTION_FAILED", errc::library_error},
    vendor_status{14, "CUBLAS_STATUS_INTERNAL_ERROR", errc::library_error},
    vendor_status{15, "CUBLAS_STATUS_NOT_SUPPORTED", errc::unsupported},
    vendor_status{16, "CUBLAS_STATUS_LICENSE_ERROR", errc::library_error},
};

}  // namespace troupe::cuda
