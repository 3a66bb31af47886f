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

TEST(Nvml, LacksWhatTheDriverLacks) {
  const gpu_sensors read = nvml_device::open("GPU-there")->sensors();
  EXPECT_EQ(read.power_watts, 123.5);
  EXPECT_EQ(read.utilization, 0.75);
  EXPECT_EQ(read.memory_utilization, 0.2);
  EXPECT_EQ(read.sm_clock_hertz, 1.98e9);
  EXPECT_EQ(read.throttled_by, (std::vector<std::string>{"power", "hardware_thermal"}));
  EXPECT_FALSE(read.temperature_celsius) << "no such function in this driver";
  EXPECT_FALSE(read.corrected_ecc_errors) << "not supported by this GPU";
  EXPECT_FALSE(read.memory_used_bytes) << "an error";
  const gpu_sensors none = nvml_device::open("GPU-lost")->sensors();
  EXPECT_FALSE(none.power_watts);
  EXPECT_FALSE(none.throttled_by);
}

}  // namespace
}  // namespace troupe::cuda
