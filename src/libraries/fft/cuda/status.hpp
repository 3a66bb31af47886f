#pragma once

#include "backend/cuda/context/vendor_status.hpp"

#include <array>

namespace troupe::cuda {

/// The names of statuses; cuFFT has no function for them. Source: cufft.h, cufftResult.
inline constexpr std::array cufft_statuses{
    vendor_status{0x1, "CUFFT_INVALID_PLAN", errc::library_error},
    vendor_status{0x2, "CUFFT_ALLOC_FAILED", errc::out_of_memory},
    vendor_status{0x3, "CUFFT_INVALID_TYPE", errc::library_error},
    vendor_status{0x4, "CUFFT_INVALID_VALUE", errc::library_error},
    vendor_status{0x5, "CUFFT_INTERNAL_ERROR", errc::library_error},
    vendor_status{0x6, "CUFFT_EXEC_FAILED", errc::library_error},
    vendor_status{0x7, "CUFFT_SETUP_FAILED", errc::library_error},
    vendor_status{0x8, "CUFFT_INVALID_SIZE", errc::unsupported},
    vendor_status{0x9, "CUFFT_UNALIGNED_DATA", errc::library_error},
    vendor_status{0xB, "CUFFT_INVALID_DEVICE", errc::library_error},
    vendor_status{0xD, "CUFFT_NO_WORKSPACE", errc::library_error},
    vendor_status{0xE, "CUFFT_NOT_IMPLEMENTED", errc::unsupported},
    vendor_status{0x10, "CUFFT_NOT_SUPPORTED", errc::unsupported},
    vendor_status{0x11, "CUFFT_MISSING_DEPENDENCY", errc::library_error},
    vendor_status{0x12, "CUFFT_NVRTC_FAILURE", errc::library_error},
    vendor_status{0x13, "CUFFT_NVJITLINK_FAILURE", errc::library_error},
    vendor_status{0x14, "CUFFT_NVSHMEM_FAILURE", errc::library_error},
};

}  // namespace troupe::cuda
