// How many workers a device may lose, and what a loss costs.

#include "device/fixtures/device_under_fault.hpp"

#include <troupe/fault/inject.hpp>
#include <troupe/lane/marker.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

device_config with_budget(restart_budget budget) {
  device_config c = permissive();
  c.restarts = budget;
  c.silence_timeout = 300ms;
  return c;
}

TEST(Budget, FourthFailureWithinTheWindowStopsTheDevice) {
  troupe::system system;
  device gpu = system.device(0, with_budget({.restarts = 3, .window = 60s}));
  std::atomic<bool> told_of_the_end = false;
  gpu.watch_generation([&](std::optional<std::uint64_t> generation) {
    if (!generation) told_of_the_end = true;
  });
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(gpu.wait_until_ready());
    freeze_worker(gpu);
    ASSERT_TRUE(eventually([&] { return gpu.generation() == i + 1; }));
  }
  shared_flag flag(gpu);
  auto pending = gpu.ask(hold{.flag = flag.tensor()});
  freeze_worker(gpu);
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
  device gpu = system.device(0, with_budget({.restarts = 1, .window = 100ms}));
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(gpu.wait_until_ready());
    freeze_worker(gpu);
    ASSERT_TRUE(eventually([&] { return gpu.generation() == i + 1; }));
    std::this_thread::sleep_for(110ms);  // the window itself
  }
  EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
}

TEST(Budget, WhatARequestIsNamedForCostsNothing) {
  troupe::system system;
  device gpu = system.device(0, with_budget({.restarts = 0}));
  for (std::int64_t i = 1; i <= 5; ++i) {
    ASSERT_TRUE(gpu.wait_until_ready());
    // No two are the same request.
    const auto outcome =
        ended(gpu.ask(fault::inject{.what = fault::kind::abort, .duration_ns = i}));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::device_fault) << outcome.error().to_string();
  }
  EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
}

TEST(Budget, NeitherKillsFromOutsideNorHangsCostAnything) {
  troupe::system system;
  device gpu = system.device(0, with_budget({.restarts = 0}));
  for (std::uint64_t i = 1; i <= 4; ++i) {
    ASSERT_TRUE(gpu.wait_until_ready());
    kill_worker(gpu);
    ASSERT_TRUE(eventually([&] { return gpu.generation() == i + 1; }));
  }
  for (int i = 0; i < 4; ++i) {
    const auto outcome =
        ended(gpu.ask(fault::inject{.what = fault::kind::hang}, {.run_limit = 30ms}));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::device_fault) << outcome.error().to_string();
  }
  EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
}

}  // namespace
}  // namespace troupe::test
