#include "libraries/fft/cuda/status.hpp"

#include <cufft.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace troupe::cuda {
namespace {

/// As the vendor's header has it.
struct named_status {
  int number;
  std::string_view name;
};

#define STATUS(name) \
  named_status { name, #name }
constexpr named_status vendor_statuses[] = {
    STATUS(CUFFT_INVALID_PLAN),    STATUS(CUFFT_ALLOC_FAILED),
    STATUS(CUFFT_INVALID_TYPE),    STATUS(CUFFT_INVALID_VALUE),
    STATUS(CUFFT_INTERNAL_ERROR),  STATUS(CUFFT_EXEC_FAILED),
    STATUS(CUFFT_SETUP_FAILED),    STATUS(CUFFT_INVALID_SIZE),
    STATUS(CUFFT_UNALIGNED_DATA),  STATUS(CUFFT_INVALID_DEVICE),
    STATUS(CUFFT_NO_WORKSPACE),    STATUS(CUFFT_NOT_IMPLEMENTED),
    STATUS(CUFFT_NOT_SUPPORTED),   STATUS(CUFFT_MISSING_DEPENDENCY),
    STATUS(CUFFT_NVRTC_FAILURE),   STATUS(CUFFT_NVJITLINK_FAILURE),
    STATUS(CUFFT_NVSHMEM_FAILURE),
};
#undef STATUS

TEST(CufftStatus, HasTheVendorsNumbersAndNames) {
  for (const named_status& vendor : vendor_statuses) {
    const auto ours = std::ranges::find(cufft_statuses, vendor.number, &vendor_status::number);
    ASSERT_NE(ours, cufft_statuses.end()) << vendor.name;
    EXPECT_EQ(ours->name, vendor.name);
  }
  EXPECT_EQ(std::size(vendor_statuses), cufft_statuses.size());
  // A build with a newer header fails here, so that its new codes are checked.
  EXPECT_EQ(MAX_CUFFT_ERROR, 0x15);
}

}  // namespace
}  // namespace troupe::cuda
