// How many workers a device may lose.

#include "device_under_fault.hpp"

#include <troupe/ops/lane/marker.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

TEST(Budget, FourthFailureWithinTheWindowStopsTheDevice) {
  troupe::system system;
  device_config c = permissive();
  c.restarts = {.restarts = 3, .window = 60s};
  device gpu = system.device(0, c);
  std::atomic<bool> told_of_the_end = false;
  gpu.watch_generation([&](std::optional<std::uint64_t> generation) {
    if (!generation) told_of_the_end = true;
  });
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(gpu.wait_until_ready());
    kill_worker(gpu);
    ASSERT_TRUE(eventually([&] { return gpu.generation() == i + 1; }));
  }
  shared_flag flag(gpu);
  auto pending = gpu.ask(hold{.flag = flag.tensor()});
  kill_worker(gpu);
  auto outcome = ended(std::move(pending));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::device_stopped);
  EXPECT_TRUE(eventually([&] { return gpu.health().state == device_state::stopped; }));
  auto late = ended(gpu.ask(lane::marker{}));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, errc::device_stopped);
  EXPECT_TRUE(eventually([&] { return told_of_the_end.load(); }));
  EXPECT_EQ(gpu.health().restarts, 3u);
}

TEST(Budget, FailureAfterTheWindowRestartsAgain) {
  troupe::system system;
  device_config c = permissive();
  c.restarts = {.restarts = 1, .window = 100ms};
  device gpu = system.device(0, c);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(gpu.wait_until_ready());
    kill_worker(gpu);
    ASSERT_TRUE(eventually([&] { return gpu.generation() == i + 1; }));
    std::this_thread::sleep_for(110ms);  // the window itself
  }
  EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
}

}  // namespace
}  // namespace troupe::test
