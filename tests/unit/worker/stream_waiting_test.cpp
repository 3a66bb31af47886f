#include "stream_stage.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace troupe {
namespace {

using namespace testing_worker;
using namespace std::chrono_literals;

// As many requests of a lane as may be in its queue at once.
constexpr int depth = 64;

TEST_F(WorkerStreamLanes, ALimitedNumberOfRequestsIsInAQueueAtOnce) {
  start();
  stage_.send({.number = 0, .hold = true}, 0);
  for (std::int64_t i = 0; i < 100; ++i)
    stage_.send({.number = 1 + i % 50}, 0);
  stage_.send({.number = 55}, 1);
  stage_.await(1, 1);
  EXPECT_EQ(enqueued[0], depth) << "the others wait here, and another lane does not wait for them";
  let_end(0);
  stage_.await(0, 101);
  EXPECT_EQ(enqueued[0], 101);
}

TEST_F(WorkerStreamLanes, ARequestWaitsHereForOneThatIsNotInItsQueueYet) {
  start();
  stage_.send({.number = 0, .hold = true}, 0);
  for (std::int64_t i = 1; i < depth; ++i)
    stage_.send({.number = 1}, 0);
  stage_.send({.writes = stage_.kib(0, 1), .number = 2}, 0);
  stage_.send({.reads = stage_.kib(0, 1), .number = 3}, 1);
  stage_.send({.number = 4}, 2);
  stage_.await(2, 1);
  EXPECT_EQ(enqueued[1], 0) << "its queue could not be told what to wait for";
  let_end(0);
  stage_.await(1, 1);
  EXPECT_TRUE(before("end 2", "begin 3"));
}

TEST_F(WorkerStreamLanes, RevokedRequestsAreAnsweredAndNotRun) {
  const std::uint16_t slot = stage_.prepare({.number = 7});
  stage_.requests->header(slot).revoked.store(1);
  stage_.requests->publish(slot, 0);
  start();
  stage_.await(0, 1);
  EXPECT_EQ(code_of(slot), errc::cancelled);
  EXPECT_EQ(enqueued[0], 0);
}

TEST_F(WorkerStreamLanes, ExpiredRequestsAreAnsweredAndNotRun) {
  const std::uint16_t slot = stage_.prepare({.number = 7});
  stage_.requests->header(slot).deadline_ns = 1;
  stage_.requests->publish(slot, 0);
  start();
  stage_.await(0, 1);
  EXPECT_EQ(code_of(slot), errc::deadline_exceeded);
  EXPECT_EQ(enqueued[0], 0);
}

TEST_F(WorkerStreamLanes, RequestsRevokedOrExpiredWhileTheyWaitForTheirQueueAreNotRun) {
  start();
  stage_.send({.number = 0, .hold = true}, 0);
  for (std::int64_t i = 1; i < depth; ++i)
    stage_.send({.number = 1}, 0);
  const std::uint16_t revoked = stage_.send({.number = 2}, 0);
  const std::uint16_t expired = stage_.prepare({.number = 3});
  const auto soon = std::chrono::steady_clock::now() + 20ms;
  stage_.requests->header(expired).deadline_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(soon.time_since_epoch()).count();
  stage_.requests->publish(expired, 0);
  stage_.send({.number = 4}, 1);
  stage_.await(1, 1);
  stage_.requests->header(revoked).revoked.store(1);
  std::this_thread::sleep_until(soon + 1ms);
  let_end(0);
  stage_.await(0, depth + 2);
  EXPECT_EQ(code_of(revoked), errc::cancelled);
  EXPECT_EQ(code_of(expired), errc::deadline_exceeded);
  EXPECT_FALSE(stage_.steps.begun[2]);
  EXPECT_FALSE(stage_.steps.begun[3]);
}

TEST_F(WorkerStreamLanes, HeldRequestsAndWhatDependsOnThemWaitForTheirRelease) {
  const std::uint16_t held = stage_.prepare({.writes = stage_.kib(0, 1), .number = 1});
  const std::uint16_t dropped = stage_.prepare({.number = 2});
  for (const std::uint16_t slot : {held, dropped}) {
    stage_.requests->header(slot).held.store(wire::hold::until_released);
    stage_.requests->publish(slot, 0);
  }
  stage_.send({.reads = stage_.kib(0, 1), .number = 3}, 1);
  stage_.send({.number = 4}, 2);
  start(false);
  stage_.await(2, 1);
  EXPECT_EQ(enqueued[0], 0);
  EXPECT_EQ(enqueued[1], 0);
  stage_.requests->header(dropped).revoked.store(1);
  stage_.requests->release_held();
  stage_.await(0, 2);
  stage_.await(1, 1);
  EXPECT_TRUE(before("end 1", "begin 3"));
  EXPECT_EQ(code_of(held), errc{});
  EXPECT_EQ(code_of(dropped), errc::cancelled);
  EXPECT_FALSE(stage_.steps.begun[2]);
}

TEST_F(WorkerStreamLanes, AClosedRequestAndWhatFollowsItWaitUntilItIsOpened) {
  const std::uint16_t closed = stage_.prepare({.writes = stage_.kib(0, 1), .number = 1});
  stage_.requests->header(closed).held.store(wire::hold::until_opened);
  stage_.requests->publish(closed, 0);
  stage_.send({.number = 2}, 0);
  stage_.send({.reads = stage_.kib(0, 1), .number = 3}, 1);
  stage_.send({.number = 4}, 2);
  start();
  stage_.await(2, 1);
  EXPECT_EQ(enqueued[0], 0);
  EXPECT_EQ(enqueued[1], 0);
  stage_.requests->open(closed);
  stage_.await(0, 2);
  stage_.await(1, 1);
  EXPECT_TRUE(before("end 1", "begin 3"));
  EXPECT_EQ(code_of(closed), errc{});
}

TEST_F(WorkerStreamLanes, ARequestWaitsForTheMemoryItWasSentWith) {
  stage_.memory_version.store(4);
  start();
  const std::uint16_t slot = stage_.prepare({.number = 1});
  stage_.requests->header(slot).memory_version = 5;
  stage_.send({.number = 0}, 0);
  stage_.requests->publish(slot, 0);
  stage_.await(0, 1);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(enqueued[0], 1) << "its memory is not mapped yet";
  stage_.memory_version.store(5, std::memory_order_release);
  stage_.await(0, 2);
  EXPECT_EQ(code_of(slot), errc{});
}

TEST_F(WorkerStreamLanes, WhatWaitsForItsMemoryHoldsUpNobodyElse) {
  start();
  const std::uint16_t slot = stage_.prepare({.number = 1});
  stage_.requests->header(slot).memory_version = 5;
  stage_.requests->publish(slot, 0);
  stage_.send({.number = 0}, 1);
  stage_.await(1, 1);
  EXPECT_EQ(enqueued[0], 0);
  stage_.memory_version.store(5, std::memory_order_release);
  stage_.await(0, 1);
  EXPECT_EQ(code_of(slot), errc{});
}

TEST_F(WorkerStreamLanes, StopEndsTheWaitForMemoryThatNeverComes) {
  start();
  const std::uint16_t slot = stage_.prepare({.number = 1});
  stage_.requests->header(slot).memory_version = 5;
  stage_.requests->publish(slot, 0);
  stage_.await(0, 0);
  const auto begin = std::chrono::steady_clock::now();
  stage_.lanes->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  EXPECT_EQ(enqueued[0], 0);
}

TEST_F(WorkerStreamLanes, ARequestThatIsToRunAloneKeepsOthersOutOfTheQueues) {
  start();
  stage_.send({.number = 0, .hold = true}, 0);
  await_enqueued(0, 1);
  stage_.send_alone({.number = 1, .hold = true}, 1);
  stage_.send({.number = 2}, 2);
  stage_.await_reader_asleep();
  EXPECT_EQ(enqueued[1], 0);
  EXPECT_EQ(enqueued[2], 0) << "under a steady load the other would never be alone";
  let_end(0);
  until(stage_.steps.begun[1]);
  stage_.send({.number = 3}, 3);
  let_end(1);
  stage_.await(2, 1);
  stage_.await(3, 1);
  EXPECT_TRUE(before("end 0", "begin 1"));
  EXPECT_TRUE(before("end 1", "begin 2"));
  EXPECT_TRUE(before("end 1", "begin 3"));
}

TEST_F(WorkerStreamLanes, ARequestThatIsToRunAloneLetsWhatItDependsOnRunFirst) {
  start();
  stage_.send({.number = 0, .hold = true}, 0);
  for (int i = 0; i < 100; ++i)  // more than a queue takes
    stage_.send({.number = 3}, 0);
  stage_.send({.writes = stage_.kib(0, 1), .number = 1}, 0);
  stage_.send_alone({.reads = stage_.kib(0, 1), .number = 2}, 1);
  stage_.send_alone({.number = 4}, 2);
  stage_.await_reader_asleep();
  let_end(0);
  stage_.await(1, 1);
  stage_.await(2, 1);
  EXPECT_TRUE(before("end 1", "begin 2"));
}

}  // namespace
}  // namespace troupe
