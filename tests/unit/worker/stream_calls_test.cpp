#include "stream_stage.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

namespace troupe {
namespace {

using namespace testing_worker;
using namespace std::chrono_literals;

/// A step whose executor returns only once what it has enqueued has run, as some calls of vendors'
/// libraries do.
struct waiting_step {
  using reply = std::int64_t;
  static constexpr std::string_view name = "test.waiting_step";

  any_tensor reads{};
  any_tensor writes{};
  std::int64_t number = 0;
  bool hold = false;  ///< its enqueued work lasts until the test lets it continue

  static void describe(description<waiting_step>& d) {
    d.about("Waits for what it has enqueued.");
    d.reads("reads", &waiting_step::reads, {}, "tensor that is read").optional();
    d.writes("writes", &waiting_step::writes, {}, "tensor that is written").optional();
    d.value("number", &waiting_step::number, "number of the step").at_least(0);
    d.value("hold", &waiting_step::hold, "it lasts until the test lets it go on");
  }
};

std::mutex callers_mutex;
std::set<std::thread::id> callers;  // the threads of executors that wait
std::atomic<int> calling{0};

result<void> call_and_wait(void*, const void* request, lane_context& where, std::byte* reply) {
  const auto& r = *static_cast<const waiting_step*>(request);
  {
    const std::lock_guard lock(callers_mutex);
    callers.insert(std::this_thread::get_id());
  }
  current->note("call " + std::to_string(r.number));
  calling.fetch_add(1);
  const step as{.number = r.number, .hold = r.hold};
  auto outcome = enqueue_step(nullptr, &as, where, reply);
  if (outcome) outcome = static_cast<fake_lane&>(where).finish();
  current->note("return " + std::to_string(r.number));
  return outcome;
}

class WorkerStreamLanesCalls : public WorkerStreamLanes {
 protected:
  WorkerStreamLanesCalls() {
    calling.store(0);
    callers.clear();
    stage_.operations.insert({.type = &request_type_of<waiting_step>(),
                              .run = &call_and_wait,
                              .effort = effort::blocks_host});
  }

  std::uint16_t call(waiting_step r, std::uint8_t lane) {
    const std::uint16_t slot = stage_.prepare_request(std::move(r));
    stage_.requests->publish(slot, lane);
    return slot;
  }
  /// Waits until so many executors that wait have been called.
  static void await_calls(int count) {
    while (calling.load() < count)
      std::this_thread::yield();
  }
};

TEST_F(WorkerStreamLanesCalls, OtherLanesGoOnWhileOneWaits) {
  start();
  const std::uint16_t slot = call({.number = 0, .hold = true}, 1);
  until(stage_.steps.begun[0]);
  for (std::uint64_t i = 1; i <= 40; ++i) {
    stage_.send({.number = 1}, 0);
    stage_.tell({.number = 2}, 5);
    stage_.await(0, i);
    stage_.await(5, i);
  }
  EXPECT_EQ(completed(1), 0u);
  EXPECT_FALSE(stage_.steps.has("return 0"));
  let_end(0);
  stage_.await(1, 1);
  EXPECT_EQ(code_of(slot), errc{});
  std::int64_t value = 1;
  std::memcpy(&value, stage_.reply(slot).bytes, sizeof(value));
  EXPECT_EQ(value, 0);
}

TEST_F(WorkerStreamLanesCalls, WhatFollowsInTheLaneIsEnqueuedOnceTheCallHasReturned) {
  start();
  call({.number = 0, .hold = true}, 1);
  stage_.send({.number = 1}, 1);
  call({.number = 2}, 1);
  stage_.tell({.number = 3}, 1);
  until(stage_.steps.begun[0]);
  stage_.send({.number = 4}, 0);  // proves that the worker has come past them
  stage_.await(0, 1);
  EXPECT_EQ(enqueued[1], 1);
  let_end(0);
  stage_.await(1, 4);
  EXPECT_TRUE(before("return 0", "begin 1"));
  EXPECT_TRUE(before("end 1", "begin 2"));
  EXPECT_TRUE(before("return 2", "begin 3"));
}

TEST_F(WorkerStreamLanesCalls, WhatComesBeforeItHasItsMark) {
  stage_.tell({.number = 0}, 1);
  stage_.tell({.number = 1}, 1);
  call({.number = 2, .hold = true}, 1);
  start();
  stage_.await(1, 2);
  EXPECT_FALSE(stage_.steps.has("return 2"));
  let_end(2);
  stage_.await(1, 3);
}

TEST_F(WorkerStreamLanesCalls, EveryLaneHasAThreadForThem) {
  start();
  for (std::int64_t lane = 0; lane < wire::max_lanes; ++lane)
    call({.number = lane, .hold = true}, static_cast<std::uint8_t>(lane));
  for (std::size_t lane = 0; lane < wire::max_lanes; ++lane)
    until(stage_.steps.begun[lane]);
  for (std::uint8_t lane = 0; lane < wire::max_lanes; ++lane) {
    let_end(lane);
    stage_.await(lane, 1);
    call({.number = 40}, lane);
    stage_.await(lane, 2);
  }
  EXPECT_EQ(callers.size(), std::size_t{wire::max_lanes});
  EXPECT_EQ(device_.entered, 1 + wire::max_lanes);
}

TEST_F(WorkerStreamLanesCalls, WhatDependsOnTheCallWaitsInTheWorkerUntilItHasReturned) {
  start();
  call({.writes = stage_.kib(0, 100), .number = 0, .hold = true}, 1);
  until(stage_.steps.begun[0]);
  stage_.send({.reads = stage_.kib(50, 100), .number = 1}, 2);
  stage_.send({.number = 2}, 2);  // behind it
  stage_.send({.number = 3}, 3);
  stage_.await(3, 1);
  EXPECT_EQ(enqueued[2], 0);
  EXPECT_EQ(device_.waits, 0);
  let_end(0);
  stage_.await(2, 2);
  EXPECT_TRUE(before("return 0", "begin 1"));
  EXPECT_TRUE(before("end 1", "begin 2"));
}

TEST_F(WorkerStreamLanesCalls, WhatDependsOnSomethingBehindTheCallWaitsForThat) {
  start();
  call({.number = 0, .hold = true}, 1);
  until(stage_.steps.begun[0]);
  stage_.send({.writes = stage_.kib(0, 1), .number = 1}, 1);
  stage_.send({.reads = stage_.kib(0, 1), .number = 2}, 2);
  call({.reads = stage_.kib(0, 1), .number = 3}, 4);
  stage_.send({.number = 4}, 3);
  stage_.await(3, 1);
  EXPECT_EQ(enqueued[2], 0);
  EXPECT_EQ(enqueued[4], 0);
  let_end(0);
  stage_.await(2, 1);
  stage_.await(4, 1);
  EXPECT_TRUE(before("end 1", "begin 2"));
  EXPECT_TRUE(before("end 1", "begin 3"));
}

TEST_F(WorkerStreamLanesCalls, WhatDependsOnSomethingBeforeTheCallDoesNotWaitForIt) {
  start();
  stage_.tell({.writes = stage_.kib(0, 1), .number = 0}, 1);
  call({.number = 1, .hold = true}, 1);
  until(stage_.steps.begun[1]);
  stage_.send({.reads = stage_.kib(0, 1), .number = 2}, 2);
  stage_.await(2, 1);
  EXPECT_FALSE(stage_.steps.has("return 1"));
  let_end(1);
  stage_.await(1, 2);
}

TEST_F(WorkerStreamLanesCalls, ACallThatDependsOnAnotherLaneIsMadeAtOnceAndItsQueueWaits) {
  start();
  stage_.send({.writes = stage_.kib(0, 100), .number = 0, .hold = true}, 0);
  until(stage_.steps.begun[0]);
  call({.reads = stage_.kib(0, 100), .number = 1}, 1);
  await_calls(1);
  EXPECT_EQ(device_.waits, 1);
  stage_.send({.number = 2}, 2);
  stage_.await(2, 1);
  EXPECT_FALSE(stage_.steps.begun[1].load());
  let_end(0);
  stage_.await(1, 1);
  EXPECT_TRUE(before("end 0", "begin 1"));
}

TEST_F(WorkerStreamLanesCalls, ACallThatIsToBeAloneIsAlone) {
  start();
  stage_.send({.number = 0, .hold = true}, 0);
  until(stage_.steps.begun[0]);
  const std::uint16_t slot = stage_.prepare_request(waiting_step{.number = 1, .hold = true});
  stage_.requests->header(slot).alone.store(1, std::memory_order_relaxed);
  stage_.requests->publish(slot, 1);
  stage_.send({.number = 2}, 2);
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(calling, 0);
  let_end(0);
  await_calls(1);
  std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(stage_.steps.begun[2].load());
  let_end(1);
  stage_.await(2, 1);
  EXPECT_TRUE(before("end 0", "call 1"));
  EXPECT_TRUE(before("return 1", "begin 2"));
}

TEST_F(WorkerStreamLanesCalls, WhatWaitsBehindOneCanBeCancelledAndExpire) {
  start();
  call({.number = 0, .hold = true}, 1);
  until(stage_.steps.begun[0]);
  const std::uint16_t revoked = stage_.send({.number = 1}, 1);
  const std::uint16_t late = stage_.prepare({.number = 2});
  stage_.requests->header(late).deadline_ns = 1;
  stage_.requests->publish(late, 1);
  stage_.requests->header(revoked).revoked.store(1, std::memory_order_relaxed);
  let_end(0);
  stage_.await(1, 3);
  EXPECT_EQ(code_of(revoked), errc::cancelled);
  EXPECT_EQ(code_of(late), errc::deadline_exceeded);
  EXPECT_FALSE(stage_.steps.has("begin 1"));
  EXPECT_FALSE(stage_.steps.has("begin 2"));
}

TEST_F(WorkerStreamLanesCalls, AFailingOneFailsAlone) {
  const std::uint16_t thrown = call({.number = throws}, 1);
  const std::uint16_t failed = call({.number = does_not_converge}, 1);
  const std::uint16_t fine = call({.number = 3}, 1);
  start();
  stage_.await(1, 3);
  EXPECT_EQ(code_of(thrown), errc::handler_failed);
  EXPECT_EQ(code_of(failed), errc::numerical);
  EXPECT_EQ(code_of(fine), errc{});
  EXPECT_EQ(losses_, 0);
}

TEST_F(WorkerStreamLanesCalls, ALossIsReportedWhileACallWaits) {
  start();
  call({.number = 0, .hold = true}, 1);
  until(stage_.steps.begun[0]);
  stage_.send({.number = faults_when_it_runs}, 2);
  await_loss();
  EXPECT_EQ(lost_code_, errc::device_fault);
  EXPECT_EQ(completed(1), 0u);
  stage_.lanes->stop();
  EXPECT_EQ(losses_, 1);
}

TEST_F(WorkerStreamLanesCalls, ALossThatACallMeetsIsReportedOnce) {
  start();
  const std::uint16_t slot = call({.number = finds_the_context_lost}, 1);
  await_loss();
  EXPECT_EQ(code_of(slot), errc{});
  stage_.lanes->stop();
  EXPECT_EQ(losses_, 1);
}

TEST_F(WorkerStreamLanesCalls, AreWaitedForWhenTheLanesStop) {
  start();
  call({.number = 0, .hold = true}, 1);
  stage_.send({.number = 1}, 1);
  until(stage_.steps.begun[0]);
  std::atomic<bool> stopped{false};
  std::jthread stopper([&] {
    stage_.lanes->stop();
    stopped.store(true);
  });
  std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(stopped.load());
  let_end(0);
  stopper.join();
  EXPECT_TRUE(stage_.steps.has("return 0"));
  EXPECT_EQ(losses_, 0);
}

/// With threads that help: a lane of theirs that meets such a call is taken back first.
TEST_F(WorkerStreamLanesCalls, AreNeverMadeByAThreadThatHasOtherLanes) {
  stage_.submitters = 2;
  for (int i = 0; i < 20; ++i) {
    for (std::uint8_t lane = 0; lane < 4; ++lane) {
      stage_.tell({.number = lane}, lane);
      if (i % 5 == 4) call({.number = 10 + lane}, lane);
    }
  }
  start();
  for (std::uint8_t lane = 0; lane < 4; ++lane)
    stage_.await(lane, 24);
  EXPECT_EQ(callers.size(), 4u);
}

}  // namespace
}  // namespace troupe
