#include "device/device_core.hpp"
#include "device_simulation.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <optional>

// What the device thread does in one turn, with workers that do as the test says.
namespace troupe::model {
namespace {

using namespace std::chrono_literals;

class DeviceTurns : public ::testing::Test {
 protected:
  void make(const device_config& config, bool own_memory = false) {
    make_unready(config, own_memory);
    turn();
    have_next_serve();
  }
  void make_unready(device_config config, bool own_memory = false) {
    config.mailbox_bytes = 4096;
    config.memory_limit_bytes = 64 << 20;
    config.backoff.jitter = 0;
    told_ = std::make_unique<device_model>(
        device_model::limits{config.restarts, config.backoff, around_.time});
    around_.told = told_.get();
    host_ = memory_pool::create(
                {.space = memory_space::host, .limit_bytes = 1 << 20, .granule_bytes = 4096})
                .value();
    chosen_backend backend{.plugin = "simulated", .description = {.name = "simulated"}};
    if (own_memory) backend.source = source_;
    core_ = device_core::create_with(std::move(backend), 0, config, host_, around_).value();
    buffer_ =
        any_tensor::owned(core_->allocate(memory_space::device, 4096).value(), dtype::u8, {4096});
  }
  ~DeviceTurns() override {
    buffer_ = {};
    core_.reset();
  }

  void turn() { core_->watch().take_turn(); }
  void have_next_serve() {
    around_.next()->becomes_ready();
    turn();
    ASSERT_NE(around_.serving(), nullptr);
  }
  // Where nothing runs there is nobody to name.
  void lose_worker() {
    around_.serving()->ends({.signalled = false, .code = 3}, {}, {}, false, false);
    turn();
  }
  void kill_worker() {
    around_.serving()->ends({.signalled = true, .code = SIGKILL}, {}, {}, true, false);
    turn();
  }
  // Its answer is found under its lane.
  void send(std::uint8_t lane, const request_options& options = {}, use request = {}) {
    (void)core_->send(request_type_of<use>(), &request, options, lane,
                      [this, lane](const std::byte*, error* failure) {
                        answers_[lane] = failure != nullptr ? failure->code : errc{};
                      });
  }
  [[nodiscard]] std::optional<errc> answer_of(std::uint8_t lane) const {
    const auto found = answers_.find(lane);
    return found == answers_.end() ? std::nullopt : std::optional(found->second);
  }
  void have_it_begin(std::initializer_list<int> lanes_to_begin) {
    while (around_.serving()->takes_up()) {
    }
    for (const int lane : lanes_to_begin)
      around_.serving()->begins(lane);
  }
  // Each has begun in a lane of its own, and the context is lost to one of them.
  void have_two_suspects() {
    send(0);
    send(1);
    have_it_begin({0, 1});
    around_.serving()->loses_its_context();
    turn();
    have_next_serve();
  }
  void bury() {
    around_.dying()->can_be_reaped();
    turn();
  }

  simulated_surroundings around_{0};
  std::unique_ptr<device_model> told_;
  std::shared_ptr<memory_pool> host_;
  std::shared_ptr<simulated_source> source_ = std::make_shared<simulated_source>(false);
  std::shared_ptr<device_core> core_;
  any_tensor buffer_;
  std::map<std::uint8_t, errc> answers_;
};

TEST_F(DeviceTurns, ARestartAsOldAsTheWindowCounts) {
  make({.standby = false,
        .restarts = {.restarts = 1, .window = 100ms},
        .backoff = {.initial = 0ms}});
  lose_worker();
  have_next_serve();
  around_.time += 100ms;
  lose_worker();
  EXPECT_EQ(core_->watch().state(), device_state::stopped);
}

TEST_F(DeviceTurns, AWorkerThatIsKilledFromOutsideCostsNoBudgetAndLongerAndLongerWaits) {
  make({.standby = false, .restarts = {.restarts = 0}, .backoff = {.initial = 10ms}});
  for (const auto wait : {0ms, 10ms, 20ms}) {
    kill_worker();
    ASSERT_EQ(core_->watch().state(), device_state::recovering);
    EXPECT_EQ(around_.next() != nullptr, wait == 0ms);
    around_.time += wait;
    turn();
    have_next_serve();
  }
  // What has ended well in between begins anew.
  send(0);
  have_it_begin({0});
  around_.serving()->completes(0, errc{});
  kill_worker();
  EXPECT_NE(around_.next(), nullptr);
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
    around_.serving()->completes(lane, errc{});
  turn();
  EXPECT_EQ(answer_of(0), errc{});
  EXPECT_EQ(answer_of(1), errc{});
}

TEST_F(DeviceTurns, AWorkerThatARequestIsNamedForCostsNoBudget) {
  make({.standby = false, .restarts = {.restarts = 0}, .backoff = {.initial = 0ms}});
  for (std::int64_t number = 0; number < 3; ++number) {
    send(0, {}, {.number = number});
    have_it_begin({0});
    around_.serving()->ends({.signalled = true, .code = SIGSEGV}, SIGSEGV, 0, false, false);
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
    around_.serving()->ends({.signalled = true, .code = SIGSEGV}, SIGSEGV, 0, false, true);
    turn();
    bury();
    ASSERT_EQ(answer_of(0), errc::device_fault);
    have_next_serve();
  }
  lose_worker();
  have_next_serve();
  lose_worker();
  EXPECT_EQ(core_->watch().state(), device_state::stopped);
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
  EXPECT_TRUE(around_.serving()->could_begin().empty());
  around_.serving()->completes(0, errc{});
  have_it_begin({1, 2});
}

TEST_F(DeviceTurns, ADeviceThatHasNeverHadAWorkerIsGivenUpSoon) {
  make_unready({.standby = false, .backoff = {.initial = 0ms}});
  for (int i = 0; i < 4; ++i) {
    turn();
    ASSERT_NE(around_.next(), nullptr) << i;
    around_.next()->fails_to_start({.code = errc::device_unavailable});
    turn();
  }
  EXPECT_EQ(core_->watch().state(), device_state::stopped);
  EXPECT_EQ(core_->watch().stop_reason().code, errc::device_unavailable);
}

TEST_F(DeviceTurns, ALostWorkerIsReplacedAtOnceHoweverLongAFailedStandbyIsLeftAlone) {
  make({.standby = true, .backoff = {.initial = 10s}});
  around_.next()->fails_to_start({.code = errc::system_error});
  turn();
  ASSERT_EQ(around_.next(), nullptr);
  lose_worker();
  EXPECT_NE(around_.next(), nullptr);
}

TEST_F(DeviceTurns, AStandbyThatFailsNowAndThenIsReplacedEachTime) {
  make(
      {.standby = true, .restarts = {.restarts = 1, .window = 100ms}, .backoff = {.initial = 1ms}});
  for (int i = 0; i < 5; ++i) {
    ASSERT_NE(around_.next(), nullptr) << i;
    around_.next()->fails_to_start({.code = errc::system_error});
    turn();
    around_.time += 101ms;
    turn();
  }
  EXPECT_EQ(core_->watch().generation(), 1u);
}

TEST_F(DeviceTurns, AStandbyThatFailsTooOftenWithinTheWindowIsGivenUpUntilTheNextLoss) {
  make({.standby = true, .restarts = {.restarts = 2, .window = 1s}, .backoff = {.initial = 1ms}});
  for (int i = 0; i < 3; ++i) {
    ASSERT_NE(around_.next(), nullptr) << i;
    around_.next()->fails_to_start({.code = errc::system_error});
    turn();
    around_.time += 10ms;
    turn();
  }
  EXPECT_EQ(around_.next(), nullptr);
  lose_worker();
  have_next_serve();
  EXPECT_NE(around_.next(), nullptr);
}

TEST_F(DeviceTurns, AStandbyIsStartedOnceTheLostWorkerIsGone) {
  make({.standby = true}, true);
  around_.next()->becomes_ready();
  turn();
  around_.serving()->loses_its_context();
  turn();
  ASSERT_NE(around_.serving(), nullptr);  // the one that was the standby
  EXPECT_EQ(around_.next(), nullptr);
  bury();
  EXPECT_NE(around_.next(), nullptr);
}

TEST_F(DeviceTurns, AStandbyIsStartedThoughTheLostWorkerDoesNotEnd) {
  make({.standby = true}, true);
  around_.next()->becomes_ready();
  turn();
  around_.serving()->loses_its_context();
  turn();
  around_.time = core_->watch().next_turn();
  turn();
  const simulated_worker* const standby = around_.next();
  ASSERT_NE(standby, nullptr);
  bury();
  EXPECT_EQ(around_.next(), standby);
}

TEST_F(DeviceTurns, AMissedDeadlineIsAnsweredAndWhatRunsGoesOn) {
  make({.standby = false});
  send(0, {.deadline = 10ms}, {.writes = {buffer_}});
  have_it_begin({0});
  around_.time += 10ms;
  turn();
  EXPECT_EQ(answer_of(0), errc::deadline_exceeded);
  EXPECT_EQ(core_->watch().state(), device_state::ready);
  send(1, {}, {.reads = {buffer_}});
  have_it_begin({});
  EXPECT_TRUE(around_.serving()->could_begin().empty()) << "it still writes what is read";
  around_.serving()->completes(0, errc{});
  have_it_begin({1});
  around_.serving()->completes(1, errc{});
  turn();
  EXPECT_EQ(answer_of(1), errc{});
}

TEST_F(DeviceTurns, ARunLimitCountsFromWhenTheRequestIsSeenToRun) {
  make({.standby = false});
  send(0, {.run_limit = 10ms});
  around_.time += 1s;
  turn();
  have_it_begin({0});
  turn();
  around_.time += 9ms;
  turn();
  ASSERT_EQ(core_->watch().state(), device_state::ready);
  EXPECT_EQ(core_->watch().next_turn(), around_.time + 1ms);
  around_.time += 1ms;
  turn();
  EXPECT_EQ(core_->watch().state(), device_state::recovering);
  EXPECT_EQ(answer_of(0), errc::device_fault);
}

TEST_F(DeviceTurns, WhatWaitsInAQueueForAnotherOneDoesNotRun) {
  make({.standby = false}, true);
  send(0, {}, {.writes = {buffer_}});
  send(1, {.run_limit = 10ms}, {.reads = {buffer_}});
  have_it_begin({0, 1});
  turn();
  around_.time += 1s;
  turn();
  ASSERT_EQ(core_->watch().state(), device_state::ready);
  around_.serving()->completes(0, errc{});
  turn();
  around_.time += 9ms;
  turn();
  ASSERT_EQ(core_->watch().state(), device_state::ready);
  around_.time += 1ms;
  turn();
  EXPECT_EQ(core_->watch().state(), device_state::recovering);
}

TEST_F(DeviceTurns, TheRunLimitOfTheDeviceIsThatOfWhoSaysNothing) {
  make({.standby = false, .run_limit = 1s});
  send(0);
  send(1, {.run_limit = std::chrono::nanoseconds::max()});
  have_it_begin({0, 1});
  turn();
  around_.time += 1s;
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
  const auto begin = around_.time;
  around_.time += 15ms;
  turn();
  ASSERT_EQ(core_->watch().state(), device_state::recovering);
  EXPECT_LE(core_->watch().next_turn(), begin + 20ms);
}

TEST_F(DeviceTurns, NobodyElseIsBlamedWhereTheCulpritOfAHangHasCompletedMeanwhile) {
  make({.standby = false}, true);
  send(0, {.run_limit = 10ms});
  send(1);
  have_it_begin({0, 1});
  turn();
  around_.time += 10ms;
  turn();
  EXPECT_EQ(answer_of(0), errc::device_fault);
  around_.dying()->completes(0, errc{});
  bury();
  EXPECT_EQ(answer_of(1), std::nullopt) << "it is run again";
}

TEST_F(DeviceTurns, WhatIsBehindAFaultInTheOnlyBusyLaneWaitsForNoFuneral) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  send(0);
  send(0);
  have_it_begin({0, 0});
  around_.serving()->loses_its_context();
  turn();
  EXPECT_EQ(answer_of(0), errc::device_fault);
  have_next_serve();
  ASSERT_NE(around_.dying(), nullptr);
  have_it_begin({0});
  around_.serving()->completes(0, errc{});
  turn();
  EXPECT_EQ(answer_of(0), errc{});
}

TEST_F(DeviceTurns, WhatAFaultyWorkerHadInOtherLanesWaitsUntilItIsGone) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  have_two_suspects();
  while (around_.serving()->takes_up()) {
  }
  EXPECT_TRUE(around_.serving()->could_begin().empty());
  bury();
  EXPECT_FALSE(around_.serving()->could_begin().empty());
}

TEST_F(DeviceTurns, AFaultThatNoneOfTheSuspectsHasCausedIsUnexplained) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  send(2);
  have_it_begin({2});
  around_.serving()->completes(2, errc{});
  turn();
  have_two_suspects();
  bury();
  for (const int lane : {0, 1}) {
    EXPECT_EQ(core_->watch().health().unexplained_faults, 0U);
    have_it_begin({lane});
    around_.serving()->completes(lane, errc{});
    around_.time += 200ms;
    turn();
  }
  const device_health found = core_->watch().health();
  EXPECT_EQ(found.unexplained_faults, 1U);
  const std::string& message = found.last_fault->message;
  EXPECT_NE(message.find("those that ended last: model.use #0"), std::string::npos) << message;
}

TEST_F(DeviceTurns, AFaultThatASuspectCausesAgainIsExplained) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  have_two_suspects();
  bury();
  have_it_begin({0});
  around_.serving()->completes(0, errc{});
  turn();
  have_it_begin({1});
  around_.serving()->loses_its_context();
  turn();
  around_.time += 200ms;
  turn();
  ASSERT_EQ(answer_of(1), errc::device_fault);
  EXPECT_EQ(core_->watch().health().unexplained_faults, 0U);
}

TEST_F(DeviceTurns, AFaultStaysOpenWhereASuspectExpiredInsteadOfRunningAgain) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  send(0);
  send(1, {.deadline = 10ms});
  have_it_begin({0, 1});
  around_.serving()->loses_its_context();
  turn();
  have_next_serve();
  bury();
  around_.time += 20ms;
  turn();
  ASSERT_EQ(answer_of(1), errc::deadline_exceeded);
  have_it_begin({0});
  around_.serving()->completes(0, errc{});
  have_it_begin({1});  // passes it over
  for (const int lane : around_.serving()->running())
    around_.serving()->completes(lane, errc{});
  around_.time += 200ms;
  turn();
  ASSERT_EQ(answer_of(0), errc{});
  EXPECT_EQ(core_->watch().health().unexplained_faults, 0U);
}

TEST_F(DeviceTurns, AFaultWithNothingInFlightIsUnexplained) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  around_.serving()->loses_its_context();
  turn();
  EXPECT_EQ(core_->watch().health().unexplained_faults, 1U);
}

TEST_F(DeviceTurns, AWorkerThatIsKilledIsNoFaultOfTheDevice) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  send(0);
  have_it_begin({0});
  kill_worker();
  have_next_serve();
  have_it_begin({0});
  around_.serving()->completes(0, errc{});
  around_.time += 200ms;
  turn();
  ASSERT_EQ(answer_of(0), errc{});
  EXPECT_EQ(core_->watch().health().unexplained_faults, 0U);
}

TEST_F(DeviceTurns, WhatIsPassedOverIsNoSuspect) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  send(0, {}, {.writes = {buffer_}});
  send(1, {.run_limit = 10ms});
  have_it_begin({0, 1});
  turn();
  around_.time += 10ms;
  turn();
  have_next_serve();
  around_.dying()->completes(0, errc{});
  bury();
  ASSERT_EQ(answer_of(0), errc{});
  have_it_begin({0});  // it comes past what an earlier worker has completed
  around_.serving()->ends({.signalled = false, .code = 3}, {}, {}, false, false);
  turn();
  send(2, {}, {.reads = {buffer_}});
  EXPECT_EQ(answer_of(2), std::nullopt) << "what it reads is as it was written";
}

TEST_F(DeviceTurns, WhatACulpritWroteIsUndefinedAlsoWhereItHadItsAnswer) {
  make({.standby = false}, true);
  send(0, {.deadline = 10ms}, {.writes = {buffer_}});
  have_it_begin({0});
  around_.serving()->ends({.signalled = true, .code = SIGSEGV}, {}, {}, false, true);
  turn();
  around_.time += 10ms;
  turn();
  ASSERT_EQ(answer_of(0), errc::deadline_exceeded);
  bury();
  send(1, {}, {.reads = {buffer_}});
  EXPECT_EQ(answer_of(1), errc::tainted_buffer);
}

// Stopped between a worker's loss and its burial: its marks still say what it had begun.
TEST_F(DeviceTurns, OnlyWhatADyingWorkerHadBegunIsUndefinedOnceTheDeviceIsGone) {
  make({.standby = false}, true);
  const auto of_host = [&] {
    return any_tensor::owned(core_->allocate(memory_space::host, 4096).value(), dtype::u8, {4096});
  };
  const any_tensor begun = of_host();
  const any_tensor behind = of_host();
  send(0, {}, {.writes = {begun}});
  send(0, {}, {.writes = {behind}});
  have_it_begin({0, 0});  // both are in its queue
  around_.serving()->ends({.signalled = true, .code = SIGKILL}, {}, {}, false, true);
  turn();
  ASSERT_EQ(core_->watch().state(), device_state::recovering);
  core_->watch().stop({.code = errc::device_stopped, .message = "told to"});
  EXPECT_NE(begun.buffer()->state & buffer_watched, 0U);
  EXPECT_EQ(behind.buffer()->state & buffer_watched, 0U);
}

TEST_F(DeviceTurns, ADeviceThatIsGoneIsToldOfNoFaultsAnyMore) {
  make({.standby = false, .restarts = {.restarts = 0}}, true);
  EXPECT_TRUE(source_->awaits_faults);
  lose_worker();
  ASSERT_EQ(core_->watch().state(), device_state::stopped);
  EXPECT_FALSE(source_->awaits_faults);
}

}  // namespace
}  // namespace troupe::model
