#include "conformance/coverage.hpp"
#include "conformance/scene.hpp"

#include <troupe/dnn/plans.hpp>

#include <gtest/gtest.h>

namespace troupe::conformance {
namespace {

TEST(DnnPlans, AreCounted) {
  scene s;
  const auto now = s.run(dnn::plans{});
  cover("dnn.plans", dtype::f32);
  cover_layout("dnn.plans", true);
  if (s.on_gpu()) {
    EXPECT_GE(now.kept, 0);
    return;
  }
  for (const std::int64_t count :
       {now.built, now.restored, now.ahead, now.damaged, now.failed, now.kept, now.pending}) {
    EXPECT_EQ(count, 0) << "the CPU has none";
  }
}

}  // namespace
}  // namespace troupe::conformance
