// Requests whose calls wait on the host of an accelerator, beside others.

#include "device/fixtures/device_under_fault.hpp"

#include <troupe/lane/marker.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

class Calls : public device_under_fault {
 protected:
  void SetUp() override { settle(gpu_, GetParam()); }

  device gpu_ = system_.device(0, config());
  shared_flag flag_{gpu_};
  shared_flag begun_{gpu_};
  library_actor calling_ = gpu_.library("test").on_new_lane();
  library_actor other_ = gpu_.library("test").on_new_lane();
};
INSTANTIATE_TEST_SUITE_P(Standby, Calls, ::testing::Bool(), with_or_without);

TEST_P(Calls, OtherLanesAreServedWhileOneWaits) {
  auto call = calling_.ask(hold_call{.flag = flag_.tensor(), .begun = begun_.tensor()});
  ASSERT_TRUE(eventually([&] { return begun_.is_set(); }));
  auto input = gpu_.host_tensor<float>({100}).value();
  for (std::int64_t i = 0; i < 100; ++i)
    input[i] = 2;
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(other_.ask(sum{.input = input}).get(), 200.0);
  EXPECT_FALSE(call.ready());
  flag_.set();
  EXPECT_TRUE(ended(std::move(call)));
}

TEST_P(Calls, WhatDependsOnOneWaitsForItInAnyLane) {
  auto output = gpu_.host_tensor<float>({100}).value();
  for (double value = 1; value < 20; ++value) {
    flag_.reset();
    auto call = calling_.ask(hold_call{.flag = flag_.tensor(), .output = output, .value = value});
    auto in_its_lane = calling_.ask(sum{.input = output});
    auto in_another = other_.ask(sum{.input = output});
    auto behind_that = other_.ask(lane::marker{});
    flag_.set();
    EXPECT_TRUE(ended(std::move(call)));
    EXPECT_EQ(in_its_lane.get(), 100 * value);
    EXPECT_EQ(in_another.get(), 100 * value);
    EXPECT_TRUE(ended(std::move(behind_that)));
  }
}

TEST_P(Calls, OneThatHangsIsEndedAtItsRunLimitAndTheRestGoesOn) {
  auto output = gpu_.host_tensor<float>({100}).value();
  const auto begin = std::chrono::steady_clock::now();
  auto call = calling_.ask(hold_call{.flag = flag_.tensor(), .begun = begun_.tensor()},
                           {.run_limit = 50ms});
  auto behind = calling_.ask(lane::marker{});
  ASSERT_TRUE(eventually([&] { return begun_.is_set(); }));
  EXPECT_TRUE(ended(other_.ask(lane::marker{})));
  auto outcome = ended(std::move(call));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::device_fault);
  EXPECT_NE(outcome.error().message.find("hang"), std::string::npos) << outcome.error().to_string();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 50ms);
  EXPECT_TRUE(ended(std::move(behind)));
  EXPECT_TRUE(ended(other_.ask(lane::marker{})));
  EXPECT_EQ(gpu_.generation(), 2u);
}

TEST_P(Calls, OneIsMadeAgainWhereItsWorkerWasKilled) {
  auto output = gpu_.host_tensor<float>({100}).value();
  auto call = calling_.ask(
      hold_call{.flag = flag_.tensor(), .output = output, .value = 3, .begun = begun_.tensor()});
  auto after = other_.ask(sum{.input = output});
  ASSERT_TRUE(eventually([&] { return begun_.is_set(); }));
  kill_worker(gpu_);
  flag_.set();
  EXPECT_TRUE(ended(std::move(call)));
  EXPECT_EQ(after.get(), 300.0);
  EXPECT_EQ(gpu_.generation(), 2u);
}

TEST_P(Calls, WhatIsCancelledBehindOneNeverRuns) {
  auto output = gpu_.host_tensor<float>({100}).value();
  output[0] = 5;
  auto call = calling_.ask(hold_call{.flag = flag_.tensor(), .begun = begun_.tensor()});
  shared_flag never(gpu_);
  auto late = calling_.ask(hold_call{.flag = never.tensor(), .output = output, .value = 1},
                           {.deadline = 50ms});
  ASSERT_TRUE(eventually([&] { return begun_.is_set(); }));
  const auto outcome = ended(std::move(late));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::deadline_exceeded);
  flag_.set();
  EXPECT_TRUE(ended(std::move(call)));
  EXPECT_TRUE(ended(calling_.ask(lane::marker{})));
  EXPECT_EQ(output[0], 5.0F);
}

}  // namespace
}  // namespace troupe::test
