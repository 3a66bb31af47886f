// Deadlines and run limits.
#include "device_turns.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace troupe::model {
namespace {

using namespace std::chrono_literals;

TEST_F(DeviceTurns, AMissedDeadlineIsAnsweredAndWhatRunsGoesOn) {
  make({.standby = false});
  send(0, {.deadline = 10ms}, {.writes = {buffer_}});
  have_it_begin({0});
  environment_.time += 10ms;
  turn();
  EXPECT_EQ(answer_of(0), errc::deadline_exceeded);
  EXPECT_EQ(core_->supervision().state(), device_state::ready);
  send(1, {}, {.reads = {buffer_}});
  have_it_begin({});
  EXPECT_TRUE(environment_.serving()->could_begin().empty()) << "it still writes what is read";
  environment_.serving()->completes(0, errc{});
  have_it_begin({1});
  environment_.serving()->completes(1, errc{});
  turn();
  EXPECT_EQ(answer_of(1), errc{});
}

TEST_F(DeviceTurns, ARunLimitCountsFromWhenTheRequestIsSeenToRun) {
  make({.standby = false});
  send(0, {.run_limit = 10ms});
  environment_.time += 1s;
  turn();
  have_it_begin({0});
  turn();
  environment_.time += 9ms;
  turn();
  ASSERT_EQ(core_->supervision().state(), device_state::ready);
  EXPECT_EQ(core_->supervision().next_turn(), environment_.time + 1ms);
  environment_.time += 1ms;
  turn();
  EXPECT_EQ(core_->supervision().state(), device_state::recovering);
  EXPECT_EQ(answer_of(0), errc::device_fault);
}

TEST_F(DeviceTurns, WhatWaitsInAQueueForAnotherOneDoesNotRun) {
  make({.standby = false}, true);
  send(0, {}, {.writes = {buffer_}});
  send(1, {.run_limit = 10ms}, {.reads = {buffer_}});
  have_it_begin({0, 1});
  turn();
  environment_.time += 1s;
  turn();
  ASSERT_EQ(core_->supervision().state(), device_state::ready);
  environment_.serving()->completes(0, errc{});
  turn();
  environment_.time += 9ms;
  turn();
  ASSERT_EQ(core_->supervision().state(), device_state::ready);
  environment_.time += 1ms;
  turn();
  EXPECT_EQ(core_->supervision().state(), device_state::recovering);
}

TEST_F(DeviceTurns, TheRunLimitOfTheDeviceIsThatOfWhoSaysNothing) {
  make({.standby = false, .run_limit = 1s});
  send(0);
  send(1, {.run_limit = std::chrono::nanoseconds::max()});
  have_it_begin({0, 1});
  turn();
  environment_.time += 1s;
  turn();
  EXPECT_EQ(answer_of(0), errc::device_fault);
  EXPECT_EQ(answer_of(1), std::nullopt) << "it is run again";
}

TEST_F(DeviceTurns, AHangHidesNobodysDeadline) {
  make({.standby = false});
  send(0, {.run_limit = 10ms});
  send(1, {.deadline = 20ms});
  have_it_begin({0});
  turn();
  const auto begin = environment_.time;
  environment_.time += 15ms;
  turn();
  ASSERT_EQ(core_->supervision().state(), device_state::recovering);
  EXPECT_LE(core_->supervision().next_turn(), begin + 20ms);
}

TEST_F(DeviceTurns, NobodyElseIsBlamedWhereTheCulpritOfAHangHasCompletedMeanwhile) {
  make({.standby = false}, true);
  send(0, {.run_limit = 10ms});
  send(1);
  have_it_begin({0, 1});
  turn();
  environment_.time += 10ms;
  turn();
  EXPECT_EQ(answer_of(0), errc::device_fault);
  environment_.draining()->completes(0, errc{});
  reap_and_settle();
  EXPECT_EQ(answer_of(1), std::nullopt) << "it is run again";
}

}  // namespace
}  // namespace troupe::model
