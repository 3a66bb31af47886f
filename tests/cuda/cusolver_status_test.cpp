#include "libraries/solver/cuda/status.hpp"

#include <cusolver_common.h>
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
  named_status { CUSOLVER_STATUS_##name, "CUSOLVER_STATUS_" #name }
constexpr named_status vendor_statuses[] = {
    STATUS(NOT_INITIALIZED),
    STATUS(ALLOC_FAILED),
    STATUS(INVALID_VALUE),
    STATUS(ARCH_MISMATCH),
    STATUS(MAPPING_ERROR),
    STATUS(EXECUTION_FAILED),
    STATUS(INTERNAL_ERROR),
    STATUS(MATRIX_TYPE_NOT_SUPPORTED),
    STATUS(NOT_SUPPORTED),
    STATUS(ZERO_PIVOT),
    STATUS(INVALID_LICENSE),
    STATUS(IRS_PARAMS_NOT_INITIALIZED),
    STATUS(IRS_PARAMS_INVALID),
    STATUS(IRS_PARAMS_INVALID_PREC),
    STATUS(IRS_PARAMS_INVALID_REFINE),
    STATUS(IRS_PARAMS_INVALID_MAXITER),
    STATUS(IRS_INTERNAL_ERROR),
    STATUS(IRS_NOT_SUPPORTED),
    STATUS(IRS_OUT_OF_RANGE),
    STATUS(IRS_NRHS_NOT_SUPPORTED_FOR_REFINE_GMRES),
    STATUS(IRS_INFOS_NOT_INITIALIZED),
    STATUS(IRS_INFOS_NOT_DESTROYED),
    STATUS(IRS_MATRIX_SINGULAR),
    STATUS(INVALID_WORKSPACE),
};
#undef STATUS

TEST(CusolverStatus, HasTheVendorsNumbersAndNames) {
  for (const named_status& vendor : vendor_statuses) {
    const auto ours = std::ranges::find(cusolver_statuses, vendor.number, &vendor_status::number);
    ASSERT_NE(ours, cusolver_statuses.end()) << vendor.name;
    EXPECT_EQ(ours->name, vendor.name);
  }
  EXPECT_EQ(std::size(vendor_statuses), cusolver_statuses.size());
}

}  // namespace
}  // namespace troupe::cuda
