#include "libraries/blas/cuda/planner/cublas_status.hpp"

#include <cublasLt.h>
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
    STATUS(CUBLAS_STATUS_NOT_INITIALIZED), STATUS(CUBLAS_STATUS_ALLOC_FAILED),
    STATUS(CUBLAS_STATUS_INVALID_VALUE),   STATUS(CUBLAS_STATUS_ARCH_MISMATCH),
    STATUS(CUBLAS_STATUS_MAPPING_ERROR),   STATUS(CUBLAS_STATUS_EXECUTION_FAILED),
    STATUS(CUBLAS_STATUS_INTERNAL_ERROR),  STATUS(CUBLAS_STATUS_NOT_SUPPORTED),
    STATUS(CUBLAS_STATUS_LICENSE_ERROR),
};
#undef STATUS

TEST(CublasLtStatus, HasTheVendorsNumbersAndNames) {
  for (const named_status& vendor : vendor_statuses) {
    const auto ours = std::ranges::find(cublas_statuses, vendor.number, &vendor_status::number);
    ASSERT_NE(ours, cublas_statuses.end()) << vendor.name;
    EXPECT_EQ(ours->name, vendor.name);
  }
  EXPECT_EQ(std::size(vendor_statuses), cublas_statuses.size());
  // A build with a newer header fails here, so that its new codes are checked.
  EXPECT_EQ(CUBLAS_VER_MAJOR, 13);
  EXPECT_EQ(CUBLASLT_MATMUL_MATRIX_SCALE_END, 6);
}

}  // namespace
}  // namespace troupe::cuda
