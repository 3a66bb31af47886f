#include "libraries/tensors/cuda/cutensor/status.hpp"

#include <cutensor.h>
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
  named_status { CUTENSOR_STATUS_##name, "CUTENSOR_STATUS_" #name }
constexpr named_status vendor_statuses[] = {
    STATUS(NOT_INITIALIZED),     STATUS(ALLOC_FAILED),  STATUS(INVALID_VALUE),
    STATUS(ARCH_MISMATCH),       STATUS(MAPPING_ERROR), STATUS(EXECUTION_FAILED),
    STATUS(INTERNAL_ERROR),      STATUS(NOT_SUPPORTED), STATUS(LICENSE_ERROR),
    STATUS(CUBLAS_ERROR),        STATUS(CUDA_ERROR),    STATUS(INSUFFICIENT_WORKSPACE),
    STATUS(INSUFFICIENT_DRIVER), STATUS(IO_ERROR),
};
#undef STATUS

TEST(CutensorStatus, HasTheVendorsNumbersAndNames) {
  for (const named_status& vendor : vendor_statuses) {
    const auto ours = std::ranges::find(cutensor_statuses, vendor.number, &vendor_status::number);
    ASSERT_NE(ours, cutensor_statuses.end()) << vendor.name;
    EXPECT_EQ(ours->name, vendor.name);
  }
  EXPECT_EQ(std::size(vendor_statuses), cutensor_statuses.size());
}

}  // namespace
}  // namespace troupe::cuda
