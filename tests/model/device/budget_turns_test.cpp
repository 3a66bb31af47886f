// The cost of a lost worker, and when the next one and a standby come.
#include "device_turns.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <set>

namespace troupe::model {
namespace {

using namespace std::chrono_literals;

TEST_F(DeviceTurns, ARestartAsOldAsTheWindowCounts) {
  make({.standby = false,
        .restarts = {.restarts = 1, .window = 100ms},
        .backoff = {.initial = 0ms}});
  lose_worker();
  have_next_serve();
  environment_.time += 100ms;
  lose_worker();
  EXPECT_EQ(core_->supervision().state(), device_state::stopped);
}

TEST_F(DeviceTurns, AWorkerThatIsKilledFromOutsideCostsNoBudgetAndLongerAndLongerWaits) {
  make({.standby = false, .restarts = {.restarts = 0}, .backoff = {.initial = 10ms}});
  for (const auto wait : {0ms, 10ms, 20ms}) {
    kill_worker();
    ASSERT_EQ(core_->supervision().state(), device_state::recovering);
    EXPECT_EQ(environment_.next() != nullptr, wait == 0ms);
    environment_.time += wait;
    turn();
    have_next_serve();
  }
  // A success in between begins a new series.
  send(0);
  have_it_begin({0});
  environment_.serving()->completes(0, errc{});
  kill_worker();
  EXPECT_NE(environment_.next(), nullptr);
}

TEST_F(DeviceTurns, AKillFromOutsideIsNeverHeldAgainstWhatRan) {
  make({.standby = false, .backoff = {.initial = 0ms}});
  send(0);
  send(1);
  for (int i = 0; i < 4; ++i) {
    have_it_begin({0, 1});
    kill_worker();
    have_next_serve();
  }
  have_it_begin({0, 1});
  for (const int lane : {0, 1})
    environment_.serving()->completes(lane, errc{});
  turn();
  EXPECT_EQ(answer_of(0), errc{});
  EXPECT_EQ(answer_of(1), errc{});
}

TEST_F(DeviceTurns, AWorkerThatARequestIsNamedForCostsNoBudget) {
  make({.standby = false, .restarts = {.restarts = 0}, .backoff = {.initial = 0ms}});
  for (std::int64_t number = 0; number < 3; ++number) {
    send(0, {}, {.number = number});
    have_it_begin({0});
    environment_.serving()->ends({.signalled = true, .code = SIGSEGV}, SIGSEGV, 0, false, false);
    turn();
    ASSERT_EQ(answer_of(0), errc::device_fault);
    have_next_serve();
  }
}

// That it was named shows only when it is reaped.
TEST_F(DeviceTurns, WhatALossTurnsOutNotToCostIsGivenBack) {
  make({.standby = false, .restarts = {.restarts = 1}, .backoff = {.initial = 0ms}}, true);
  for (std::int64_t number = 0; number < 3; ++number) {
    send(0, {}, {.number = number});
    have_it_begin({0});
    environment_.serving()->ends({.signalled = true, .code = SIGSEGV}, SIGSEGV, 0, false, true);
    turn();
    reap_and_settle();
    ASSERT_EQ(answer_of(0), errc::device_fault);
    have_next_serve();
  }
  lose_worker();
  have_next_serve();
  lose_worker();
  EXPECT_EQ(core_->supervision().state(), device_state::stopped);
}

// One of two suspects runs alone and ends its worker again: so it ended the first one, too.
TEST_F(DeviceTurns, ALossWhoseCulpritIsFoundLaterCostsNoBudget) {
  make({.standby = false, .restarts = {.restarts = 1}, .backoff = {.initial = 0ms}});
  for (std::int64_t number = 0; number < 3; ++number) {
    send(0, {}, {.number = 2 * number});
    send(1, {}, {.number = 2 * number + 1});
    have_it_begin({0, 1});
    lose_worker();
    have_next_serve();
    have_it_begin({0});
    lose_worker();
    ASSERT_EQ(answer_of(0), errc::device_fault) << number;
    have_next_serve();
    have_it_end_well(1);
    ASSERT_EQ(answer_of(1), errc{});
    answers_.clear();
  }
}

TEST_F(DeviceTurns, AWorkerThatComesAfterSeveralWereLostBeginsWithOneRequest) {
  make({.standby = false, .backoff = {.initial = 0ms}});
  for (int i = 0; i < 3; ++i) {
    lose_worker();
    have_next_serve();
  }
  for (std::uint8_t lane = 0; lane < 3; ++lane)
    send(lane);
  have_it_begin({0});
  EXPECT_TRUE(environment_.serving()->could_begin().empty());
  environment_.serving()->completes(0, errc{});
  have_it_begin({1, 2});
}

TEST_F(DeviceTurns, ADeviceThatHasNeverHadAWorkerIsGivenUpSoon) {
  make_unready({.standby = false, .backoff = {.initial = 0ms}});
  for (int i = 0; i < 4; ++i) {
    turn();
    ASSERT_NE(environment_.next(), nullptr) << i;
    environment_.next()->fails_to_start({.code = errc::device_unavailable});
    turn();
  }
  EXPECT_EQ(core_->supervision().state(), device_state::stopped);
  EXPECT_EQ(core_->supervision().stop_reason().code, errc::device_unavailable);
}

// Each start takes so long that the budget of 20 in 5 minutes is never spent.
TEST_F(DeviceTurns, ADeviceWhoseNextWorkersNeverGetReadyStopsWithinSixMinutes) {
  make({.standby = false});
  kill_worker();
  send(0);
  const auto begun = environment_.time;
  std::set<std::uint64_t> starts;
  while (core_->supervision().state() == device_state::recovering &&
         environment_.time - begun < 1h) {
    if (environment_.next() != nullptr) starts.insert(environment_.next()->number());
    environment_.time += 1s;
    turn();
  }
  EXPECT_EQ(answer_of(0), errc::device_stopped);
  EXPECT_LE(environment_.time - begun, 6min);
  EXPECT_GE(environment_.time - begun, 5min);
  EXPECT_GE(starts.size(), 10u);
  EXPECT_LE(starts.size(), 15u);
}

// So with workers that serve for a moment, and end before they have answered anything.
TEST_F(DeviceTurns, ADeviceWhoseWorkersEndBeforeTheyAnswerStopsHoweverSlowlyTheyStart) {
  make({.standby = false, .restarts = {.restarts = 20, .window = 60s}});
  send(0);
  for (int i = 0; i < 10 && core_->supervision().state() != device_state::stopped; ++i) {
    lose_worker();
    if (core_->supervision().state() == device_state::stopped) break;  // there is no next turn
    if (environment_.next() == nullptr) {
      environment_.time = core_->supervision().next_turn();
      turn();
    }
    if (environment_.next() == nullptr) break;
    environment_.time += 19s;
    have_next_serve();
  }
  EXPECT_EQ(answer_of(0), errc::device_stopped);
}

// A service that loses a worker now and then is no such device, though it has little to do.
TEST_F(DeviceTurns, LossesFarBetweenAreNoFailuresInARow) {
  make({.standby = false, .restarts = {.restarts = 20, .window = 60s}});
  for (int i = 0; i < 10; ++i) {
    environment_.time += 61s;
    lose_worker();
    have_next_serve();
  }
  EXPECT_EQ(core_->supervision().state(), device_state::ready);
}

TEST_F(DeviceTurns, ALostWorkerIsReplacedAtOnceHoweverLongAFailedStandbyIsLeftAlone) {
  make({.standby = true, .backoff = {.initial = 10s}});
  environment_.next()->fails_to_start({.code = errc::system_error});
  turn();
  ASSERT_EQ(environment_.next(), nullptr);
  lose_worker();
  EXPECT_NE(environment_.next(), nullptr);
}

TEST_F(DeviceTurns, AStandbyThatFailsNowAndThenIsReplacedEachTime) {
  make(
      {.standby = true, .restarts = {.restarts = 1, .window = 100ms}, .backoff = {.initial = 1ms}});
  for (int i = 0; i < 5; ++i) {
    ASSERT_NE(environment_.next(), nullptr) << i;
    environment_.next()->fails_to_start({.code = errc::system_error});
    turn();
    environment_.time += 101ms;
    turn();
  }
  EXPECT_EQ(core_->supervision().generation(), 1u);
}

TEST_F(DeviceTurns, AStandbyThatFailsTooOftenWithinTheWindowIsGivenUpUntilTheNextLoss) {
  make({.standby = true, .restarts = {.restarts = 2, .window = 1s}, .backoff = {.initial = 1ms}});
  for (int i = 0; i < 3; ++i) {
    ASSERT_NE(environment_.next(), nullptr) << i;
    environment_.next()->fails_to_start({.code = errc::system_error});
    turn();
    environment_.time += 10ms;
    turn();
  }
  EXPECT_EQ(environment_.next(), nullptr);
  lose_worker();
  have_next_serve();
  EXPECT_NE(environment_.next(), nullptr);
}

TEST_F(DeviceTurns, AStandbyIsStartedOnceTheLostWorkerIsGone) {
  make({.standby = true}, true);
  environment_.next()->becomes_ready();
  turn();
  environment_.serving()->loses_its_context();
  turn();
  ASSERT_NE(environment_.serving(), nullptr);  // the one that was the standby
  EXPECT_EQ(environment_.next(), nullptr);
  reap_and_settle();
  EXPECT_NE(environment_.next(), nullptr);
}

TEST_F(DeviceTurns, AStandbyIsStartedThoughTheLostWorkerDoesNotEnd) {
  make({.standby = true}, true);
  environment_.next()->becomes_ready();
  turn();
  environment_.serving()->loses_its_context();
  turn();
  environment_.time = core_->supervision().next_turn();
  turn();
  const simulated_worker* const standby = environment_.next();
  ASSERT_NE(standby, nullptr);
  reap_and_settle();
  EXPECT_EQ(environment_.next(), standby);
}

}  // namespace
}  // namespace troupe::model
