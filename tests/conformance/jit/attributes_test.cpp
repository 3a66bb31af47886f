#include "conformance/coverage.hpp"
#include "stage.hpp"

#include <troupe/jit/attributes.hpp>

#include <gtest/gtest.h>

namespace troupe::conformance {
namespace {

TEST(JitAttributes, OfTheCpuBackendSayWhyThereAreNone) {
  jit_stage s;
  if (s.why_not() != "there is no GPU to run kernels") GTEST_SKIP() << "there is a GPU";
  const auto k = s.unread_kernel();
  const auto about = s.run()(jit::attributes{.kernel = k});
  ASSERT_FALSE(about);
  EXPECT_EQ(about.error().code, errc::unsupported);
  const auto room = s.run()(jit::occupancy{.kernel = k});
  ASSERT_FALSE(room);
  EXPECT_EQ(room.error().code, errc::unsupported);
}

TEST(JitAttributes, AreThoseOfTheKernel) {
  jit_stage s;
  TROUPE_NEEDS_A_GPU(s);
  const auto add = s.kernel(jit_kernels::arithmetic, "add<float>");
  const auto about = s.run()(jit::attributes{.kernel = add}).value();
  cover("jit.attributes", dtype::f32);
  cover_layout("jit.attributes", true);
  EXPECT_EQ(about.parameters, 4);
  EXPECT_EQ(about.parameter_bytes, 28);
  EXPECT_EQ(about.most_threads, 1024);
  EXPECT_GT(about.registers, 0);
  EXPECT_EQ(about.static_shared_bytes, 0);
  EXPECT_EQ("sm_" + std::to_string(about.binary_version), s.gpu().description().architecture);
  EXPECT_GE(about.most_dynamic_shared_bytes, 48 * 1024);

  const auto tile =
      s.run()(jit::attributes{.kernel = s.kernel(jit_kernels::tiles, "copy_tile")}).value();
  EXPECT_GE(tile.static_shared_bytes, 8 * 16 * 4 + 8);
}

TEST(JitAttributes, SayHowMuchOfAKernelRunsAtOnce) {
  jit_stage s;
  TROUPE_NEEDS_A_GPU(s);
  const auto add = s.kernel(jit_kernels::arithmetic, "add<float>");
  const auto small = s.run()(jit::occupancy{.kernel = add, .block = {.x = 128}}).value();
  cover("jit.occupancy", dtype::f32);
  cover_layout("jit.occupancy", true);
  EXPECT_GE(small.blocks_per_multiprocessor, 1);
  EXPECT_GT(small.multiprocessors, 1);
  EXPECT_GE(small.best_block, 32);
  EXPECT_GE(small.best_grid, small.multiprocessors);
  const auto large = s.run()(jit::occupancy{.kernel = add, .block = {.x = 1024}}).value();
  EXPECT_LT(large.blocks_per_multiprocessor, small.blocks_per_multiprocessor);
  const auto greedy =
      s.run()(jit::occupancy{
                  .kernel = add, .block = {.x = 128}, .shared_bytes = std::int64_t{200} * 1024})
          .value();
  EXPECT_EQ(greedy.blocks_per_multiprocessor, 1);
  const auto clustered =
      s.run()(jit::occupancy{.kernel = add, .block = {.x = 128}, .cluster = {.x = 2}}).value();
  EXPECT_GE(clustered.largest_cluster, 8);
  EXPECT_GT(clustered.clusters, 0);
}

}  // namespace
}  // namespace troupe::conformance
