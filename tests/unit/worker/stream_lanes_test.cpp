#include "stream_stage.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>

namespace troupe {
namespace {

using namespace testing_worker;
using namespace std::chrono_literals;

TEST_F(WorkerStreamLanes, AnExecutorSeesTheSequenceOfItsRequestAndOfNoOther) {
  // Equal but for that, so that all but the first ones are recognised by their bytes.
  constexpr std::uint64_t world = std::uint64_t{3} << 48;
  const step repeated{.number = 1, .ballast = std::vector<std::int64_t>(8)};
  start();
  for (std::uint64_t i = 1; i <= 4; ++i) {
    const std::uint16_t slot = stage_.prepare(repeated);
    stage_.requests->header(slot).sequence = world + i;
    stage_.requests->publish(slot, 0);
    stage_.await(0, i);
    EXPECT_EQ(stage_.steps.sequence[1].load(), world + i);
  }
  stage_.send(repeated, 0);
  stage_.await(0, 5);
  EXPECT_EQ(stage_.steps.sequence[1].load(), 0u) << "the lane had one before";
}

TEST_F(WorkerStreamLanes, ALaneRunsInTheOrderSent) {
  for (std::int64_t i = 0; i < 40; ++i)
    stage_.send({.reads = stage_.kib(0, 1), .number = i}, 2);
  start();
  stage_.await(2, 40);
  for (int i = 0; i + 1 < 40; ++i) {
    ASSERT_TRUE(before("end " + std::to_string(i), "begin " + std::to_string(i + 1))) << i;
  }
  EXPECT_EQ(device_.lanes, 1);
  EXPECT_EQ(device_.waits, 0) << "a lane need not wait for itself";
}

TEST_F(WorkerStreamLanes, AThousandRequestsOfOneLaneComeBackInOrder) {
  start();
  std::deque<std::uint16_t> open;
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    if (open.size() == 200) {
      stage_.await(0, i - 199);
      stage_.requests->give_back_slot(open.front());
      open.pop_front();
    }
    open.push_back(stage_.send({.number = static_cast<std::int64_t>(i % 50)}, 0));
  }
  stage_.await(0, 1'000);
  EXPECT_EQ(stage_.steps.events.size(), 2'000u);
}

TEST_F(WorkerStreamLanes, EveryLaneHasAQueueOfItsOwnAndTheyRunAtTheSameTime) {
  start();
  for (std::int64_t lane = 0; lane < wire::max_lanes; ++lane)
    stage_.send({.number = lane, .hold = true}, static_cast<std::uint8_t>(lane));
  // Each waits for all to have begun: one after the other would never end.
  for (std::size_t lane = 0; lane < wire::max_lanes; ++lane)
    until(stage_.steps.begun[lane]);
  for (std::uint8_t lane = 0; lane < wire::max_lanes; ++lane) {
    let_end(lane);
    stage_.await(lane, 1);
  }
  EXPECT_EQ(device_.lanes, wire::max_lanes);
  EXPECT_EQ(device_.entered, 1) << "one thread enqueues";
}

/// First, then second with a hazard between them, in two lanes; the first is held. A third request
/// of a third lane, sent last, proves that the worker has come past the second.
class WorkerStreamLanesHazard : public WorkerStreamLanes {
 protected:
  void expect_ordered(step first, step second) {
    start();
    first.number = 0;
    first.hold = true;
    second.number = 1;
    stage_.send(std::move(first), 0);
    until(stage_.steps.begun[0]);
    stage_.send(std::move(second), 1);
    stage_.send({.reads = stage_.kib(4'000, 100), .number = 2}, 2);
    stage_.await(2, 1);
    EXPECT_EQ(enqueued[1], 1) << "it waits in its queue, not in the worker";
    EXPECT_EQ(device_.waits, 1);
    EXPECT_FALSE(stage_.steps.begun[1].load()) << "it did not wait";
    let_end(0);
    stage_.await(1, 1);
    EXPECT_TRUE(before("end 0", "begin 1"));
  }
};

TEST_F(WorkerStreamLanesHazard, AReadWaitsForAWrite) {
  expect_ordered({.writes = stage_.kib(0, 100)}, {.reads = stage_.kib(99, 100)});
}
TEST_F(WorkerStreamLanesHazard, AWriteWaitsForARead) {
  expect_ordered({.reads = stage_.kib(0, 100)}, {.writes = stage_.kib(50, 100)});
}
TEST_F(WorkerStreamLanesHazard, AWriteWaitsForAWrite) {
  expect_ordered({.writes = stage_.kib(0, 100)}, {.writes = stage_.kib(0, 1)});
}
TEST_F(WorkerStreamLanesHazard, AnUpdateWaitsForAnUpdate) {
  expect_ordered({.updates = stage_.kib(0, 100)}, {.updates = stage_.kib(0, 100)});
}

TEST_F(WorkerStreamLanes, ReadsOfTheSameAndWritesOfOtherBytesDoNotWait) {
  start();
  stage_.send(
      {.reads = stage_.kib(0, 100), .writes = stage_.kib(200, 100), .number = 0, .hold = true}, 0);
  until(stage_.steps.begun[0]);
  stage_.send({.reads = stage_.kib(0, 100), .writes = stage_.kib(300, 100), .number = 1}, 1);
  stage_.await(1, 1);
  EXPECT_FALSE(stage_.steps.has("end 0"));
  EXPECT_EQ(device_.waits, 0);
  let_end(0);
  stage_.await(0, 1);
}

TEST_F(WorkerStreamLanes, ARequestWaitsForEveryLaneThatItDependsOn) {
  start();
  for (std::int64_t i = 0; i < 3; ++i)
    stage_.send({.writes = stage_.kib(i * 100, 100), .number = i, .hold = true},
                static_cast<std::uint8_t>(i));
  stage_.send({.reads = stage_.kib(0, 300), .number = 3}, 3);
  await_enqueued(3, 1);
  EXPECT_EQ(device_.waits, 3);
  for (const std::size_t n : {2u, 0u, 1u}) {
    EXPECT_FALSE(stage_.steps.begun[3].load());
    let_end(n);
    stage_.await(static_cast<std::uint8_t>(n), 1);
  }
  stage_.await(3, 1);
}

TEST_F(WorkerStreamLanes, AChainThroughAllLanesRunsInOrder) {
  start();
  for (std::int64_t i = 0; i < 58; ++i)
    stage_.send({.updates = stage_.kib(0, 1 + i % 3), .number = i},
                static_cast<std::uint8_t>(i % wire::max_lanes));
  stage_.await(57 % wire::max_lanes, 2);
  for (int i = 0; i + 1 < 58; ++i)
    ASSERT_TRUE(before("end " + std::to_string(i), "begin " + std::to_string(i + 1))) << i;
}

TEST_F(WorkerStreamLanes, LeaveTheReplyBeforeTheMark) {
  start();
  for (std::int64_t i = 0; i < 50; ++i) {
    const std::uint16_t slot = stage_.send({.number = i}, 6);
    stage_.await(6, static_cast<std::uint64_t>(i) + 1);
    const wire::reply_slot& reply = stage_.reply(slot);
    std::int64_t value = 0;
    std::memcpy(&value, reply.bytes, sizeof(value));
    ASSERT_EQ(value, i * 10);
    ASSERT_EQ(reply.code, 0);
    ASSERT_EQ(reply.ticket, static_cast<std::uint64_t>(i));
    stage_.requests->give_back_slot(slot);
  }
}

TEST_F(WorkerStreamLanes, AFailingRequestFailsAloneWhateverItDoes) {
  const std::uint16_t thrown = stage_.send({.number = throws}, 0);
  const std::uint16_t failed = stage_.send({.number = does_not_converge}, 0);
  const std::uint16_t refused = stage_.send({.number = is_refused}, 0);
  const std::uint16_t invalid = stage_.send({.number = -1}, 0);
  const std::uint16_t good = stage_.send({.number = 1}, 0);
  start();
  stage_.await(0, 5);
  EXPECT_EQ(code_of(thrown), errc::handler_failed);
  EXPECT_EQ(wire::read_failure(stage_.reply(thrown))->message, "thrown by step 60");
  EXPECT_EQ(code_of(failed), errc::numerical);
  EXPECT_EQ(code_of(refused), errc::library_error);
  EXPECT_EQ(code_of(invalid), errc::invalid_argument);
  EXPECT_EQ(code_of(good), errc{});
  EXPECT_EQ(losses_, 0);
}

// A request that an accelerator may turn into a failure has its success written before it runs.
TEST_F(WorkerStreamLanes, WhatFailsLateKeepsNothingOfAFailureInItsSlot) {
  stage_.operations.insert(
      {.type = &request_type_of<step>(), .run = &enqueue_step, .fails_late = true});
  start();
  std::vector<std::uint16_t> slots;
  for (int i = 0; i < 256; ++i)
    slots.push_back(stage_.send({.number = does_not_converge}, 0));
  stage_.await(0, slots.size());
  for (const std::uint16_t slot : slots) {
    ASSERT_EQ(code_of(slot), errc::numerical);
    stage_.requests->give_back_slot(slot);
  }
  for (std::uint64_t i = 0; i < slots.size(); ++i) {
    const std::uint16_t slot = stage_.send({.number = 7}, 0);
    stage_.await(0, slots.size() + i + 1);
    const wire::reply_slot& reply = stage_.reply(slot);
    std::int64_t value = 0;
    std::memcpy(&value, reply.bytes, sizeof(value));
    ASSERT_EQ(reply.code, 0);
    ASSERT_EQ(reply.ticket, slots.size() + i);
    ASSERT_EQ(reply.reply_bytes, sizeof(value));
    ASSERT_EQ(value, 70);
  }
}

TEST_F(WorkerStreamLanes, AFailureIsNotAnsweredBeforeWhatWasSentEarlier) {
  start();
  stage_.send({.number = 0, .hold = true}, 0);
  const std::uint16_t failed = stage_.send({.number = does_not_converge}, 0);
  await_enqueued(0, 2);
  stage_.send({.number = 1}, 1);
  stage_.await(1, 1);
  EXPECT_EQ(completed(0), 0u);
  let_end(0);
  stage_.await(0, 2);
  EXPECT_EQ(code_of(failed), errc::numerical);
}

TEST_F(WorkerStreamLanes, WakeAThreadThatSleepsOverACompletion) {
  start();
  stage_.send({.number = 0, .hold = true}, 0);
  until(stage_.steps.begun[0]);
  const std::uint32_t rings = stage_.requests->bells(1).completion.load();
  stage_.requests->waits().store(wire::wait_epoch | wire::wait_thread);
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(stage_.requests->bells(1).completion.load(), rings);
  let_end(0);
  while (stage_.requests->bells(1).completion.load() == rings)
    std::this_thread::yield();
  EXPECT_EQ(completed(0), 1u);
}

TEST_F(WorkerStreamLanes, SleepUntilTheyAreActivatedAndRung) {
  start();
  // Sent one at a time, each after the worker has gone to sleep over the last.
  for (std::int64_t i = 0; i < 5; ++i) {
    while (stage_.requests->bells(1).worker_sleeps.load() == 0)
      std::this_thread::yield();
    stage_.send({.number = i}, 0);
    stage_.await(0, static_cast<std::uint64_t>(i) + 1);
  }
}

TEST_F(WorkerStreamLanes, EveryRequestOfManySendersRunsOnce) {
  constexpr int senders = 3;
  constexpr int rounds = 200;
  constexpr int burst = 8;
  start();
  {
    std::vector<std::jthread> threads;
    threads.reserve(senders);
    for (int t = 0; t < senders; ++t) {
      threads.emplace_back([this, t] {
        const auto lane = static_cast<std::uint8_t>(t);
        for (int round = 0; round < rounds; ++round) {
          std::array<std::uint16_t, burst> slots{};
          for (std::uint16_t& slot : slots)
            slot = stage_.send({.updates = stage_.kib(0, 1), .number = t}, lane);
          stage_.await(lane, static_cast<std::uint64_t>(round + 1) * burst);
          for (const std::uint16_t slot : slots)
            stage_.requests->give_back_slot(slot);
        }
      });
    }
  }
  stage_.lanes.reset();
  // All update the same bytes, so no two may ever overlap: each end follows its own begin.
  ASSERT_EQ(stage_.steps.events.size(), 2u * senders * rounds * burst);
  for (std::size_t i = 0; i < stage_.steps.events.size(); i += 2) {
    const std::string& begin = stage_.steps.events[i];
    ASSERT_EQ(stage_.steps.events[i + 1], "end " + begin.substr(6)) << i;
  }
}

}  // namespace
}  // namespace troupe
