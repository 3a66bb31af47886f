#pragma once

#include "backend/cuda/context/vendor_status.hpp"

#include <array>

namespace troupe::cuda {

/// The names of statuses. Source: cutensor/types.h, cutensorStatus_t.
inline constexpr std::array cutensor_statuses{
    vendor_status{1, "CUTENSOR_STATUS_NOT_INITIALIZED", errc::library_error},
    vendor_status{3, "CUTENSOR_STATUS_ALLOC_FAILED", errc::out_of_memory},
    vendor_status{7, "CUTENSOR_STATUS_INVALID_VALUE", errc::library_error},
    vendor_status{8, "CUTENSOR_STATUS_ARCH_MISMATCH", errc::unsupported},
    vendor_status{11, "CUTENSOR_STATUS_MAPPING_ERROR", errc::library_error},
    vendor_status{13, "CUTENSOR_STATUS_EXECUTION_FAILED", errc::library_error},
    vendor_status{14, "CUTENSOR_STATUS_INTERNAL_ERROR", errc::library_error},
    vendor_status{15, "CUTENSOR_STATUS_NOT_SUPPORTED", errc::unsupported},
    vendor_status{16, "CUTENSOR_STATUS_LICENSE_ERROR", errc::library_error},
    vendor_status{17, "CUTENSOR_STATUS_CUBLAS_ERROR", errc::library_error},
    vendor_status{18, "CUTENSOR_STATUS_CUDA_ERROR", errc::library_error},
    vendor_status{19, "CUTENSOR_STATUS_INSUFFICIENT_WORKSPACE", errc::library_error},
    vendor_status{20, "CUTENSOR_STATUS_INSUFFICIENT_DRIVER", errc::unsupported},
    vendor_status{21, "CUTENSOR_STATUS_IO_ERROR", errc::library_error},
};

}  // namespace troupe::cuda
