#include "stream_stage.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <thread>

namespace troupe {
namespace {

using namespace testing_worker;
using namespace std::chrono_literals;

/// One request of lane 0 has completed and one is held there; then something makes the worker find
/// its context lost.
class WorkerStreamLanesLoss : public WorkerStreamLanes {
 protected:
  void SetUp() override {
    start();
    stage_.send({.writes = stage_.kib(0, 1), .number = 0}, 0);
    stage_.await(0, 1);
    stage_.send({.writes = stage_.kib(0, 1), .number = 1, .hold = true}, 0);
    until(stage_.steps.begun[1]);
  }
  /// Reported once, and from then on no mark moves and nothing is enqueued.
  void expect_lost() {
    await_loss();
    EXPECT_EQ(lost_code_, errc::device_fault);
    let_end(1);
    std::array<int, 4> counts{};
    for (std::size_t lane = 0; lane < counts.size(); ++lane)
      counts[lane] = enqueued[lane];
    for (std::size_t lane = 0; lane < counts.size(); ++lane)
      stage_.send({.number = 2}, static_cast<std::uint8_t>(lane));
    std::this_thread::sleep_for(20ms);
    for (std::size_t lane = 0; lane < counts.size(); ++lane) {
      EXPECT_EQ(completed(lane), lane == 0 ? 1u : 0u) << "lane " << lane;
      EXPECT_EQ(enqueued[lane], counts[lane]) << "lane " << lane;
    }
    stage_.lanes->stop();
    EXPECT_EQ(losses_, 1);
  }
};

TEST_F(WorkerStreamLanesLoss, OfAKernelIsSeenAlthoughNoCallFails) {
  stage_.send({.number = faults_when_it_runs}, 1);
  expect_lost();
}

TEST_F(WorkerStreamLanesLoss, ThatNobodySaidAnythingAboutIsSeenByAsking) {
  device_.lose();
  expect_lost();
}

TEST_F(WorkerStreamLanesLoss, ThatAnExecutorMeetsIsNotItsAnswer) {
  const std::uint16_t slot = stage_.send({.number = finds_the_context_lost}, 1);
  await_loss();
  EXPECT_EQ(code_of(slot), errc{}) << "whose fault it is, is not for the worker to say";
  device_.lose();
  expect_lost();
}

TEST_F(WorkerStreamLanesLoss, MayShowAsARefusal) {
  device_.fails_the_check.store(true);
  const std::uint16_t slot = stage_.send({.number = is_refused}, 1);
  await_loss();
  EXPECT_EQ(code_of(slot), errc{}) << "a refusal after a fault says nothing about the request";
  device_.lose();
  expect_lost();
}

// As a kernel that has lost its way could write it.
TEST_F(WorkerStreamLanesLoss, MayShowAsAMarkBeyondWhatTheLaneWasGiven) {
  stage_.segment->lanes[0].completed.store(~std::uint64_t{0});
  await_loss();
  stage_.segment->lanes[0].completed.store(1);
  device_.lose();
  expect_lost();
}

TEST_F(WorkerStreamLanesLoss, MayShowAsAMarkThatGoesBack) {
  // Only a mark that the worker has seen can go back before its eyes.
  for (std::uint64_t mark = 0; losses_ == 0; mark = 1 - mark) {
    stage_.segment->lanes[0].completed.store(mark);
    std::this_thread::sleep_for(1ms);
  }
  stage_.segment->lanes[0].completed.store(1);
  device_.lose();
  expect_lost();
}

TEST_F(WorkerStreamLanesLoss, MayShowWhenALaneIsToWait) {
  device_.fails_to_wait.store(true);
  stage_.send({.reads = stage_.kib(0, 1), .number = 3}, 1);
  await_loss();
  EXPECT_EQ(enqueued[1], 0);
  device_.lose();
  expect_lost();
}

TEST_F(WorkerStreamLanesLoss, MayShowWhenAMarkIsToBeWritten) {
  device_.fails_to_mark.store(true);
  stage_.send({.number = 3}, 1);
  await_loss();
  device_.lose();
  expect_lost();
}

TEST_F(WorkerStreamLanesLoss, IsALaneThatCannotBeMadeToo) {
  device_.fails_to_make_lanes.store(true);
  stage_.send({.number = 3}, 1);
  await_loss();
  EXPECT_EQ(enqueued[1], 0);
  device_.lose();
  expect_lost();
}

TEST_F(WorkerStreamLanes, AreStoppedInTheMiddleOfWork) {
  start();
  for (std::int64_t i = 0; i < 100; ++i)
    stage_.send({.updates = stage_.kib(0, 1), .number = i % 50, .hold = true},
                static_cast<std::uint8_t>(i % 5));
  until(stage_.steps.begun[0]);
  stage_.lanes->stop();
  EXPECT_EQ(completed(0), 0u);
  EXPECT_EQ(losses_, 0);
}

}  // namespace
}  // namespace troupe
