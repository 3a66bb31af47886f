#include "libraries/blas/openblas/openblas_kernels.hpp"

#include "libraries/blas/openblas/openblas.hpp"
#include "libraries/blas/openblas/openblas_memory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace troupe::cpu {
namespace {

TEST(OpenblasKernels, FitWhatTheProcessorCanDo) {
  EXPECT_EQ(openblas_kernels_for({}), nullptr);
  EXPECT_STREQ(openblas_kernels_for({.avx2_fma = true}), "Haswell");
  EXPECT_STREQ(openblas_kernels_for({.is_amd = true, .avx2_fma = true}), "Zen");
  EXPECT_STREQ(openblas_kernels_for({.avx2_fma = true, .avx512 = true}), "SkylakeX");
}

// OpenBLAS takes a processor that it does not know for a Prescott.
TEST(OpenblasKernels, AreThoseThatOpenblasRuns) {
  const char* const fitting = openblas_kernels_for(this_processor());
  if (fitting == nullptr) GTEST_SKIP() << "OpenBLAS's own choice";
  const char* const said = std::getenv("OPENBLAS_CORETYPE");
  ASSERT_NE(said, nullptr) << "nobody answers OpenBLAS";
  if (std::string(said) != fitting) GTEST_SKIP() << "somebody has chosen others";
  EXPECT_STREQ(openblas_get_corename(), fitting);
}

TEST(OpenblasThreads, AreNoMoreThanThereAreAddressesFor) {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  EXPECT_EQ(openblas_threads_within(std::nullopt, 64), 64);
  EXPECT_EQ(openblas_threads_within(100 * gib, 64), 64);
  EXPECT_EQ(openblas_threads_within(4 * gib, 64), 15);
  EXPECT_EQ(openblas_threads_within(4 * gib, 2), 2);
  EXPECT_EQ(openblas_threads_within(0, 64), 1);
}

TEST(OpenblasKernels, LeaveTheRestOfTheEnvironmentAsItIs) {
  ASSERT_EQ(::setenv("TROUPE_TEST_SAYS", "this", 1), 0);
  EXPECT_STREQ(std::getenv("TROUPE_TEST_SAYS"), "this");
  EXPECT_EQ(std::getenv("TROUPE_TEST_SAYS_NOTHING"), nullptr);
}

}  // namespace
}  // namespace troupe::cpu
