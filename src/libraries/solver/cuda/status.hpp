#pragma once

#include "backend/cuda/context/vendor_status.hpp"

#include <array>

namespace troupe::cuda {

/// The names of statuses; cuSOLVER has no function for them. Source: cusolver_common.h,
/// cusolverStatus_t.
inline constexpr std::array cusolver_statuses{
    vendor_status{1, "CUSOLVER_STATUS_NOT_INITIALIZED", errc::library_error},
    vendor_status{2, "CUSOLVER_STATUS_ALLOC_FAILED", errc::out_of_memory},
    vendor_status{3, "CUSOLVER_STATUS_INVALID_VALUE", errc::library_error},
    vendor_status{4, "CUSOLVER_STATUS_ARCH_MISMATCH", errc::unsupported},
    vendor_status{5, "CUSOLVER_STATUS_MAPPING_ERROR", errc::library_error},
    vendor_status{6, "CUSOLVER_STATUS_EXECUTION_FAILED", errc::library_error},
    vendor_status{7, "CUSOLVER_STATUS_INTERNAL_ERROR", errc::library_error},
    vendor_status{8, "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED", errc::unsupported},
    vendor_status{9, "CUSOLVER_STATUS_NOT_SUPPORTED", errc::unsupported},
    vendor_status{10, "CUSOLVER_STATUS_ZERO_PIVOT", errc::library_error},
    vendor_status{11, "CUSOLVER_STATUS_INVALID_LICENSE", errc::library_error},
    vendor_status{12, "CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED", errc::library_error},
    vendor_status{13, "CUSOLVER_STATUS_IRS_PARAMS_INVALID", errc::library_error},
    vendor_status{14, "CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC", errc::library_error},
    vendor_status{15, "CUSOLVER_STATUS_IRS_PARAMS_INVALID_REFINE", errc::library_error},
    vendor_status{16, "CUSOLVER_STATUS_IRS_PARAMS_INVALID_MAXITER", errc::library_error},
    vendor_status{20, "CUSOLVER_STATUS_IRS_INTERNAL_ERROR", errc::library_error},
    vendor_status{21, "CUSOLVER_STATUS_IRS_NOT_SUPPORTED", errc::unsupported},
    vendor_status{22, "CUSOLVER_STATUS_IRS_OUT_OF_RANGE", errc::library_error},
    vendor_status{23, "CUSOLVER_STATUS_IRS_NRHS_NOT_SUPPORTED_FOR_REFINE_GMRES",
                  errc::library_error},
    vendor_status{25, "CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED", errc::library_error},
    vendor_status{26, "CUSOLVER_STATUS_IRS_INFOS_NOT_DESTROYED", errc::library_error},
    vendor_status{30, "CUSOLVER_STATUS_IRS_MATRIX_SINGULAR", errc::library_error},
    vendor_status{31, "CUSOLVER_STATUS_INVALID_WORKSPACE", errc::library_error},
};

}  // namespace troupe::cuda
