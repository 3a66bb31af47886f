// A GPU that the management library has lost sight of, with a library of the test's own in its
// place.

#include "backend/cuda/program/nvml.hpp"

#include <gtest/gtest.h>

namespace troupe::cuda {
namespace {

using namespace std::chrono_literals;

TEST(Nvml, OfAGpuThatIsLostWaitsAllTheSame) {
  const auto lost = nvml_device::open("GPU-lost");
  ASSERT_TRUE(lost);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(lost->wait_for_xid(50ms));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 50ms)
      << "a thread that waits again and again would spin";
}

TEST(Nvml, TellsOfTheXidOfAGpuThatIsThere) {
  const auto there = nvml_device::open("GPU-there");
  ASSERT_TRUE(there);
  EXPECT_EQ(there->wait_for_xid(50ms), 13u);
}

}  // namespace
}  // namespace troupe::cuda
