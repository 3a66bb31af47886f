#include "libraries/sparse/cuda/status.hpp"

#include <cusparse.h>
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
  named_status { CUSPARSE_STATUS_##name, "CUSPARSE_STATUS_" #name }
constexpr named_status vendor_statuses[] = {
    STATUS(NOT_INITIALIZED),
    STATUS(ALLOC_FAILED),
    STATUS(INVALID_VALUE),
    STATUS(ARCH_MISMATCH),
    STATUS(MAPPING_ERROR),
    STATUS(EXECUTION_FAILED),
    STATUS(INTERNAL_ERROR),
    STATUS(MATRIX_TYPE_NOT_SUPPORTED),
    STATUS(ZERO_PIVOT),
    STATUS(NOT_SUPPORTED),
    STATUS(INSUFFICIENT_RESOURCES),
};
#undef STATUS

TEST(CusparseStatus, HasTheVendorsNumbersAndNames) {
  for (const named_status& vendor : vendor_statuses) {
    const auto ours = std::ranges::find(cusparse_statuses, vendor.number, &vendor_status::number);
    ASSERT_NE(ours, cusparse_statuses.end()) << vendor.name;
    EXPECT_EQ(ours->name, vendor.name);
  }
  EXPECT_EQ(std::size(vendor_statuses), cusparse_statuses.size());
}

}  // namespace
}  // namespace troupe::cuda
