#pragma once

#include "backend/cuda/context/vendor_status.hpp"

#include <array>

namespace troupe::cuda {

/// The names of statuses. Source: cusparse.h, cusparseStatus_t.
inline constexpr std::array cusparse_statuses{
    vendor_status{1, "CUSPARSE_STATUS_NOT_INITIALIZED", errc::library_error},
    vendor_status{2, "CUSPARSE_STATUS_ALLOC_FAILED", errc::out_of_memory},
    vendor_status{3, "CUSPARSE_STATUS_INVALID_VALUE", errc::library_error},
    vendor_status{4, "CUSPARSE_STATUS_ARCH_MISMATCH", errc::unsupported},
    vendor_status{5, "CUSPARSE_STATUS_MAPPING_ERROR", errc::library_error},
    vendor_status{6, "CUSPARSE_STATUS_EXECUTION_FAILED", errc::library_error},
    vendor_status{7, "CUSPARSE_STATUS_INTERNAL_ERROR", errc::library_error},
    vendor_status{8, "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", errc::unsupported},
    vendor_status{9, "CUSPARSE_STATUS_ZERO_PIVOT", errc::library_error},
    vendor_status{10, "CUSPARSE_STATUS_NOT_SUPPORTED", errc::unsupported},
    vendor_status{11, "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", errc::out_of_memory},
};

}  // namespace troupe::cuda
