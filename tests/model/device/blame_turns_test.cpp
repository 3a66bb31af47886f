// Who is to blame for a lost worker, and what is undefined after it.
#include "device_turns.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace troupe::model {
namespace {

using namespace std::chrono_literals;

TEST_F(DeviceTurns, WhatIsBehindAFaultInTheOnlyBusyLaneWaitsForNoFuneral) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  send(0);
  send(0);
  have_it_begin({0, 0});
  environment_.serving()->loses_its_context();
  turn();
  EXPECT_EQ(answer_of(0), errc::device_fault);
  have_next_serve();
  ASSERT_NE(environment_.draining(), nullptr);
  have_it_begin({0});
  environment_.serving()->completes(0, errc{});
  turn();
  EXPECT_EQ(answer_of(0), errc{});
}

TEST_F(DeviceTurns, WhatAFaultyWorkerHadInOtherLanesWaitsUntilItIsGone) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  have_two_suspects();
  while (environment_.serving()->takes_up()) {
  }
  EXPECT_TRUE(environment_.serving()->could_begin().empty());
  reap_and_settle();
  EXPECT_FALSE(environment_.serving()->could_begin().empty());
}

TEST_F(DeviceTurns, AFaultThatNoneOfTheSuspectsHasCausedIsUnexplained) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  send(2);
  have_it_begin({2});
  environment_.serving()->completes(2, errc{});
  turn();
  have_two_suspects();
  reap_and_settle();
  for (const int lane : {0, 1}) {
    EXPECT_EQ(core_->supervision().health().unexplained_faults, 0U);
    have_it_begin({lane});
    environment_.serving()->completes(lane, errc{});
    environment_.time += 200ms;
    turn();
  }
  const device_health found = core_->supervision().health();
  EXPECT_EQ(found.unexplained_faults, 1U);
  const std::string& message = found.last_fault->message;
  EXPECT_NE(message.find("Requests that ended last: model.use #0"), std::string::npos) << message;
}

TEST_F(DeviceTurns, AFaultThatASuspectCausesAgainIsExplained) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  have_two_suspects();
  reap_and_settle();
  have_it_begin({0});
  environment_.serving()->completes(0, errc{});
  turn();
  have_it_begin({1});
  environment_.serving()->loses_its_context();
  turn();
  environment_.time += 200ms;
  turn();
  ASSERT_EQ(answer_of(1), errc::device_fault);
  EXPECT_EQ(core_->supervision().health().unexplained_faults, 0U);
}

TEST_F(DeviceTurns, AFaultStaysOpenWhereASuspectExpiredInsteadOfRunningAgain) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  send(0);
  send(1, {.deadline = 10ms});
  have_it_begin({0, 1});
  environment_.serving()->loses_its_context();
  turn();
  have_next_serve();
  reap_and_settle();
  environment_.time += 20ms;
  turn();
  ASSERT_EQ(answer_of(1), errc::deadline_exceeded);
  have_it_begin({0});
  environment_.serving()->completes(0, errc{});
  have_it_begin({1});  // passes it over
  for (const int lane : environment_.serving()->running())
    environment_.serving()->completes(lane, errc{});
  environment_.time += 200ms;
  turn();
  ASSERT_EQ(answer_of(0), errc{});
  EXPECT_EQ(core_->supervision().health().unexplained_faults, 0U);
}

TEST_F(DeviceTurns, AFaultWithNothingInFlightIsUnexplained) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  environment_.serving()->loses_its_context();
  turn();
  EXPECT_EQ(core_->supervision().health().unexplained_faults, 1U);
}

TEST_F(DeviceTurns, AWorkerThatIsKilledIsNoFaultOfTheDevice) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  send(0);
  have_it_begin({0});
  kill_worker();
  have_next_serve();
  have_it_begin({0});
  environment_.serving()->completes(0, errc{});
  environment_.time += 200ms;
  turn();
  ASSERT_EQ(answer_of(0), errc{});
  EXPECT_EQ(core_->supervision().health().unexplained_faults, 0U);
}

TEST_F(DeviceTurns, WhatIsPassedOverIsNoSuspect) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  send(0, {}, {.writes = {buffer_}});
  send(1, {.run_limit = 10ms});
  have_it_begin({0, 1});
  turn();
  environment_.time += 10ms;
  turn();
  have_next_serve();
  environment_.draining()->completes(0, errc{});
  reap_and_settle();
  ASSERT_EQ(answer_of(0), errc{});
  have_it_begin({0});  // it comes past what an earlier worker has completed
  environment_.serving()->ends({.signalled = false, .code = 3}, {}, {}, false, false);
  turn();
  send(2, {}, {.reads = {buffer_}});
  EXPECT_EQ(answer_of(2), std::nullopt) << "what it reads is as it was written";
}

TEST_F(DeviceTurns, WhatACulpritWroteIsUndefinedAlsoWhereItHadItsAnswer) {
  make({.standby = false}, true);
  send(0, {.deadline = 10ms}, {.writes = {buffer_}});
  have_it_begin({0});
  environment_.serving()->ends({.signalled = true, .code = SIGSEGV}, {}, {}, false, true);
  turn();
  environment_.time += 10ms;
  turn();
  ASSERT_EQ(answer_of(0), errc::deadline_exceeded);
  reap_and_settle();
  send(1, {}, {.reads = {buffer_}});
  EXPECT_EQ(answer_of(1), errc::tainted_buffer);
}

// How it ended shows only once the next one serves.
TEST_F(DeviceTurns, AFaultBelongsToTheGenerationOfTheWorkerThatMetIt) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  send(0);
  have_it_begin({0});
  environment_.serving()->ends({.signalled = true, .code = SIGSEGV}, {}, {}, false, true);
  turn();
  have_next_serve();
  ASSERT_EQ(core_->supervision().generation(), 2U);
  reap_and_settle();
  ASSERT_EQ(answer_of(0), errc::device_fault);
  EXPECT_EQ(core_->supervision().health().last_fault.value_or(error{}).generation, 1U);
}

TEST_F(DeviceTurns, WhoeverIsAnsweredFindsTheDeviceAsTheAnswerSays) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  // The cause shows once the worker is reaped, while the next one serves.
  send(0);
  have_it_begin({0});
  environment_.serving()->ends({.signalled = true, .code = SIGSEGV}, {}, {}, false, true);
  turn();
  have_next_serve();
  reap_and_settle();
  ASSERT_EQ(answer_of(0), errc::device_fault);
  ASSERT_TRUE(seen_[0].health.last_fault);
  EXPECT_EQ(seen_[0].health.last_fault->code_name, "SIGSEGV");
  // One that is known at once fails while no worker serves.
  send(1);
  have_it_begin({1});
  environment_.serving()->loses_its_context();
  turn();
  ASSERT_EQ(answer_of(1), errc::device_fault);
  EXPECT_EQ(seen_[1].health.state, device_state::recovering);
  EXPECT_EQ(seen_[1].worker, std::nullopt);
  // Nor does one where the device has stopped.
  have_next_serve();
  send(2, {.quarantine = false});
  core_->supervision().stop({.code = errc::device_stopped});
  ASSERT_EQ(answer_of(2), errc::device_stopped);
  EXPECT_EQ(seen_[2].health.state, device_state::stopped);
  EXPECT_EQ(seen_[2].worker, std::nullopt);
}

TEST_F(DeviceTurns, WhatFailsWithItsWorkerMakesRoomBeforeTheNextOneServes) {
  device_config small{.standby = false};
  small.full = when_full::reject;
  small.mailbox_capacity = 2;
  make(small);
  send(0);
  send(1);
  have_it_begin({0, 1});
  environment_.serving()->ends({.signalled = true, .code = SIGSEGV}, SIGSEGV, 0, false, false);
  turn();
  ASSERT_EQ(answer_of(0), errc::device_fault);
  ASSERT_EQ(environment_.serving(), nullptr);
  send(2);
  EXPECT_EQ(answer_of(2), std::nullopt);
  send(3);
  EXPECT_EQ(answer_of(3), errc::mailbox_full);
}

// Stopped between a worker's loss and its reaping: its marks still say what it had begun.
TEST_F(DeviceTurns, OnlyWhatADyingWorkerHadBegunIsUndefinedOnceTheDeviceIsGone) {
  make({.standby = false}, true);
  const auto of_host = [&] {
    return any_tensor::owned(core_->allocate(memory_space::host, 4096).value(), dtype::u8, {4096});
  };
  const any_tensor begun = of_host();
  const any_tensor behind = of_host();
  send(0, {}, {.writes = {begun}});
  send(0, {}, {.updates = {behind}});
  have_it_begin({0, 0});  // both are in its queue
  environment_.serving()->ends({.signalled = true, .code = SIGKILL}, {}, {}, false, true);
  turn();
  ASSERT_EQ(core_->supervision().state(), device_state::recovering);
  core_->supervision().stop({.code = errc::device_stopped, .message = "told to"});
  EXPECT_NE(begun.buffer()->state & buffer_watched, 0U);
  EXPECT_EQ(behind.buffer()->state & buffer_watched, 0U);
}

TEST_F(DeviceTurns, ADeviceThatIsGoneIsToldOfNoFaultsAnyMore) {
  make({.standby = false, .restarts = {.restarts = 0}}, true);
  EXPECT_TRUE(source_->raise);
  lose_worker();
  ASSERT_EQ(core_->supervision().state(), device_state::stopped);
  EXPECT_FALSE(source_->raise);
}

}  // namespace
}  // namespace troupe::model
