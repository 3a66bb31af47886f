#include "stage.hpp"
#include "under_sanitizers.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

using namespace testing_worker;

class WorkerLanes : public testing::Test {
 protected:
  bool before(const std::string& a, const std::string& b) {
    return stage_.steps.has(b) && stage_.steps.place_of(a) < stage_.steps.place_of(b);
  }
  void let_end(std::size_t n) { stage_.steps.may_end[n].store(true, std::memory_order_release); }
  errc code_of(std::uint16_t slot) {
    return static_cast<errc>(stage_.reply(slot).code & ~wire::not_begun);
  }

  stage stage_;
};

TEST_F(WorkerLanes, AnExecutorSeesTheSequenceOfItsRequestAndOfNoOther) {
  // Equal but for that, so that all but the first ones are recognised by their bytes.
  constexpr std::uint64_t world = std::uint64_t{3} << 48;
  const step repeated{.number = 1, .ballast = std::vector<std::int64_t>(8)};
  stage_.start(2);
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

TEST_F(WorkerLanes, ALaneRunsInTheOrderSent) {
  for (std::int64_t i = 0; i < 40; ++i) {
    // Small ones, which the reader runs itself, among large ones, which it hands on.
    stage_.send({.reads = stage_.kib(0, i % 3 == 0 ? 100 : 1), .number = i}, 2);
  }
  stage_.start(4);
  stage_.await(2, 40);
  for (int i = 0; i + 1 < 40; ++i) {
    ASSERT_TRUE(before("end " + std::to_string(i), "begin " + std::to_string(i + 1))) << i;
  }
}

TEST_F(WorkerLanes, DifferentLanesReallyRunAtTheSameTime) {
  stage_.start(3);
  stage_.send({.reads = stage_.kib(0, 100), .number = 0, .hold = true}, 0);
  stage_.send({.reads = stage_.kib(0, 100), .number = 1, .hold = true}, 1);
  // Each waits for both to have begun: one after the other would never end.
  until(stage_.steps.begun[0]);
  until(stage_.steps.begun[1]);
  let_end(0);
  let_end(1);
  stage_.await(0, 1);
  stage_.await(1, 1);
}

/// First, then second with a hazard between them, in two lanes; the first is held. A third request
/// of a third lane, sent last, proves that the worker has come past the second.
class WorkerLanesHazard : public WorkerLanes {
 protected:
  void expect_ordered(step first, step second) {
    stage_.start(4);
    first.number = 0;
    first.hold = true;
    second.number = 1;
    stage_.send(std::move(first), 0);
    until(stage_.steps.begun[0]);
    stage_.send(std::move(second), 1);
    stage_.send({.reads = stage_.kib(4'000, 100), .number = 2}, 2);
    stage_.await(2, 1);
    EXPECT_FALSE(stage_.steps.begun[1].load()) << "it did not wait";
    let_end(0);
    stage_.await(1, 1);
    EXPECT_TRUE(before("end 0", "begin 1"));
  }
};

TEST_F(WorkerLanesHazard, AReadWaitsForAWrite) {
  expect_ordered({.writes = stage_.kib(0, 100)}, {.reads = stage_.kib(99, 100)});
}
TEST_F(WorkerLanesHazard, AWriteWaitsForARead) {
  expect_ordered({.reads = stage_.kib(0, 100)}, {.writes = stage_.kib(50, 100)});
}
TEST_F(WorkerLanesHazard, AWriteWaitsForAWrite) {
  expect_ordered({.writes = stage_.kib(0, 100)}, {.writes = stage_.kib(0, 1)});
}
TEST_F(WorkerLanesHazard, AnUpdateWaitsForAnUpdate) {
  expect_ordered({.updates = stage_.kib(0, 100)}, {.updates = stage_.kib(0, 100)});
}

TEST_F(WorkerLanes, DisjointBytesOfOneBufferDoNotWait) {
  stage_.start(3);
  stage_.send({.writes = stage_.kib(0, 100), .number = 0, .hold = true}, 0);
  until(stage_.steps.begun[0]);
  stage_.send({.writes = stage_.kib(100, 100), .number = 1}, 1);
  stage_.await(1, 1);
  EXPECT_FALSE(stage_.steps.has("end 0"));
  let_end(0);
  stage_.await(0, 1);
}

TEST_F(WorkerLanes, AChainThroughManyLanesRunsInOrder) {
  stage_.start(4);
  for (std::int64_t i = 0; i < 32; ++i)
    stage_.send({.updates = stage_.kib(0, i % 2 == 0 ? 100 : 1), .number = i},
                static_cast<std::uint8_t>(i));
  stage_.await(31, 1);
  for (int i = 0; i + 1 < 32; ++i)
    ASSERT_TRUE(before("end " + std::to_string(i), "begin " + std::to_string(i + 1))) << i;
}

TEST_F(WorkerLanes, ARequestThatIsToRunAloneWaitsForTheOthersAndKeepsThemOut) {
  stage_.start(4);
  stage_.send({.reads = stage_.kib(0, 100), .number = 0, .hold = true}, 0);
  until(stage_.steps.begun[0]);
  stage_.send_alone({.reads = stage_.kib(0, 100), .number = 1, .hold = true}, 1);
  stage_.send({.reads = stage_.kib(0, 100), .number = 2}, 2);
  stage_.send({.number = 3}, 3);
  stage_.await_reader_asleep();
  EXPECT_FALSE(stage_.steps.begun[1].load());
  let_end(0);
  until(stage_.steps.begun[1]);
  stage_.send({.number = 4}, 4);
  stage_.await_reader_asleep();
  let_end(1);
  for (std::uint8_t lane = 2; lane <= 4; ++lane) {
    stage_.await(lane, 1);
    EXPECT_TRUE(before("end 1", "begin " + std::to_string(lane))) << "lane " << int{lane};
  }
  EXPECT_TRUE(before("end 0", "begin 1"));
}

TEST_F(WorkerLanes, ARequestThatIsToRunAloneLetsWhatItDependsOnRunFirst) {
  stage_.start(3);
  stage_.send({.reads = stage_.kib(0, 100), .number = 0, .hold = true}, 0);
  until(stage_.steps.begun[0]);
  stage_.send({.writes = stage_.kib(200, 100), .number = 1}, 0);
  stage_.send_alone({.reads = stage_.kib(200, 100), .number = 2}, 1);
  stage_.send_alone({.updates = stage_.kib(400, 100), .number = 3}, 2);
  stage_.send({.reads = stage_.kib(400, 100), .number = 4}, 3);
  let_end(0);
  for (std::uint8_t lane = 1; lane <= 3; ++lane)
    stage_.await(lane, 1);
  EXPECT_TRUE(before("end 1", "begin 2"));
  EXPECT_TRUE(before("end 2", "begin 3") || before("end 3", "begin 2"));
  EXPECT_TRUE(before("end 3", "begin 4"));
}

TEST_F(WorkerLanes, ARequestThatIsToRunAloneHasItsTurnUnderLoad) {
  stage_.start(3);
  stage_.send({.writes = stage_.kib(0, 100), .number = 0, .hold = true}, 0);
  stage_.send({.reads = stage_.kib(200, 100), .number = 1, .hold = true}, 1);
  until(stage_.steps.begun[0]);
  until(stage_.steps.begun[1]);
  for (std::int64_t i = 10; i < 50; ++i)
    stage_.send({.reads = stage_.kib(200, 100), .number = i}, static_cast<std::uint8_t>(i % 2));
  stage_.send_alone({.reads = stage_.kib(0, 100), .number = 2}, 5);
  stage_.await_reader_asleep();
  let_end(1);
  let_end(0);
  stage_.await(5, 1);
  stage_.await(0, 21);
  EXPECT_TRUE(before("begin 2", "begin 20"));
}

TEST_F(WorkerLanes, AClosedRequestAndWhatFollowsItWaitUntilItIsOpened) {
  stage_.start(2);
  const std::uint16_t closed = stage_.prepare({.writes = stage_.kib(0, 1), .number = 1});
  stage_.requests->header(closed).held.store(wire::hold::until_opened);
  stage_.requests->publish(closed, 0);
  stage_.send({.number = 2}, 0);
  stage_.send({.reads = stage_.kib(0, 1), .number = 3}, 1);
  stage_.send({.number = 4}, 2);
  stage_.await(2, 1);
  stage_.await_reader_asleep();
  for (const std::size_t i : {1U, 2U, 3U})
    EXPECT_FALSE(stage_.steps.begun[i].load());
  stage_.requests->open(closed);
  stage_.await(0, 2);
  stage_.await(1, 1);
  EXPECT_TRUE(before("end 1", "begin 2"));
  EXPECT_TRUE(before("end 1", "begin 3"));
}

TEST_F(WorkerLanes, RevokedRequestsAreAnsweredAndNotRun) {
  const std::uint16_t slot = stage_.prepare({.number = 7});
  stage_.requests->header(slot).revoked.store(1);
  stage_.requests->publish(slot, 0);
  stage_.start(2);
  stage_.await(0, 1);
  EXPECT_EQ(code_of(slot), errc::cancelled);
  EXPECT_FALSE(stage_.steps.begun[7]);
  EXPECT_EQ(stage_.segment->lanes[0].started.load(), 0u) << "it counts as not started";
}

TEST_F(WorkerLanes, ExpiredRequestsAreAnsweredAndNotRun) {
  const std::uint16_t slot = stage_.prepare({.number = 7});
  stage_.requests->header(slot).deadline_ns = 1;
  stage_.requests->publish(slot, 0);
  stage_.start(2);
  stage_.await(0, 1);
  EXPECT_EQ(code_of(slot), errc::deadline_exceeded);
  EXPECT_FALSE(stage_.steps.begun[7]);
}

TEST_F(WorkerLanes, ARequestRevokedWhileItWaitsForItsLaneIsNotRun) {
  stage_.start(2);
  stage_.send({.reads = stage_.kib(0, 100), .number = 0, .hold = true}, 0);
  until(stage_.steps.begun[0]);
  const std::uint16_t slot = stage_.send({.number = 1}, 0);
  stage_.requests->header(slot).revoked.store(1);
  let_end(0);
  stage_.await(0, 2);
  EXPECT_EQ(code_of(slot), errc::cancelled);
  EXPECT_FALSE(stage_.steps.begun[1]);
}

TEST_F(WorkerLanes, LeaveTheReplyBeforeTheMark) {
  stage_.start(2);
  for (std::int64_t i = 0; i < 50; ++i) {
    const std::uint16_t slot = stage_.send({.number = i}, 6);
    stage_.await(6, static_cast<std::uint64_t>(i) + 1);
    const wire::reply_slot& reply = stage_.reply(slot);
    std::int64_t value = 0;
    std::memcpy(&value, reply.bytes, sizeof(value));
    ASSERT_EQ(value, i * 10);
    ASSERT_EQ(reply.code, 0);
    ASSERT_EQ(reply.ticket, static_cast<std::uint64_t>(i));
    ASSERT_EQ(stage_.segment->lanes[6].replied.load(), static_cast<std::uint64_t>(i) + 1);
    stage_.requests->give_back_slot(slot);
  }
}

TEST_F(WorkerLanes, AFailingRequestFailsAloneWhateverItDoes) {
  const std::uint16_t thrown = stage_.send({.number = 60}, 0);
  const std::uint16_t failed = stage_.send({.number = 61}, 0);
  const std::uint16_t invalid = stage_.send({.number = -1}, 0);
  const std::uint16_t good = stage_.send({.number = 1}, 0);
  stage_.start(2);
  stage_.await(0, 4);
  EXPECT_EQ(code_of(thrown), errc::handler_failed);
  EXPECT_EQ(wire::read_failure(stage_.reply(thrown))->message, "thrown by step 60");
  EXPECT_EQ(code_of(failed), errc::numerical);
  EXPECT_EQ(code_of(invalid), errc::invalid_argument);
  EXPECT_EQ(stage_.reply(good).code, 0);
}

TEST_F(WorkerLanes, HaveAWorkspaceAgainWhereALargerOneCouldNotBeHad) {
  if (test::under_sanitizers) GTEST_SKIP() << "they end a program that asks for so much";
  const std::uint16_t first = stage_.send({.number = asks_for_little}, 0);
  const std::uint16_t too_large = stage_.send({.number = asks_for_too_much}, 0);
  const std::uint16_t smaller = stage_.send({.number = asks_for_little}, 0);
  stage_.start(1);
  stage_.await(0, 3);
  EXPECT_EQ(stage_.reply(first).code, 0);
  EXPECT_EQ(code_of(too_large), errc::out_of_memory);
  EXPECT_EQ(stage_.reply(smaller).code, 0);
}

TEST_F(WorkerLanes, TakeUpNothingMoreOnceTheyAreToStop) {
  stage_.send({.reads = stage_.kib(0, 100), .number = 1, .hold = true}, 0);
  for (int i = 0; i < 20; ++i)
    stage_.send({.reads = stage_.kib(0, 100), .number = 2}, 0);
  stage_.start(2);
  until(stage_.steps.begun[1]);
  std::jthread stopping([&] { stage_.lanes->stop(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  let_end(1);
  stopping.join();
  EXPECT_EQ(stage_.segment->lanes[0].completed.load(), 1u);
  EXPECT_FALSE(stage_.steps.begun[2]);
}

// Long requests, which another thread than the one that reads may run. That one stops looking, and
// goes to sleep, in just that moment or not.
TEST_F(WorkerLanes, OfTwoThatOneCompletionLetsGoNeitherIsLeft) {
  stage_.start(2);
  for (std::int64_t round = 0; round < 20; ++round) {
    const std::int64_t a = 3 * round;
    stage_.send({.writes = stage_.kib(0, 100), .number = a, .hold = true}, 0);
    stage_.send({.reads = stage_.kib(0, 100), .number = a + 1, .hold = true}, 1);
    stage_.send({.reads = stage_.kib(0, 100), .number = a + 2, .hold = true}, 2);
    until(stage_.steps.begun[static_cast<std::size_t>(a)]);
    const auto spun = std::chrono::steady_clock::now() + std::chrono::microseconds(5 * round);
    while (std::chrono::steady_clock::now() < spun) {
    }
    let_end(static_cast<std::size_t>(a));
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (!(stage_.steps.begun[static_cast<std::size_t>(a + 1)] &&
             stage_.steps.begun[static_cast<std::size_t>(a + 2)]) &&
           std::chrono::steady_clock::now() < give_up) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(stage_.steps.begun[static_cast<std::size_t>(a + 1)] &&
                stage_.steps.begun[static_cast<std::size_t>(a + 2)])
        << "round " << round;
    let_end(static_cast<std::size_t>(a + 1));
    let_end(static_cast<std::size_t>(a + 2));
    stage_.await(2, static_cast<std::uint64_t>(round) + 1);
    stage_.await(1, static_cast<std::uint64_t>(round) + 1);
  }
}

TEST_F(WorkerLanes, SleepUntilTheyAreActivatedAndRung) {
  stage_.start(2);
  // Sent one at a time, each after the worker has gone to sleep over the last.
  for (std::int64_t i = 0; i < 5; ++i) {
    while (stage_.requests->bells(1).worker_sleeps.load() == 0)
      std::this_thread::yield();
    stage_.send({.number = i}, 0);
    stage_.await(0, static_cast<std::uint64_t>(i) + 1);
  }
}

TEST_F(WorkerLanes, WakeAThreadThatSleepsOverAnyCompletion) {
  stage_.start(2);
  const std::atomic<std::uint32_t>& bell = stage_.requests->bells(1).completion;
  for (std::uint32_t i = 1; i <= 200; ++i) {
    // Short ones, whose completions are seen to together, and long ones, one by one.
    stage_.send({.reads = stage_.kib(0, i % 5 == 0 ? 100 : 1), .number = i % 50}, 0);
    const std::uint32_t seen = bell.load();
    stage_.requests->waits().store(i * wire::wait_epoch | wire::wait_thread);
    // As in the reactor: announce, fence, look once more, sleep.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (stage_.segment->lanes[0].completed.load() < i) {
      while (bell.load() == seen)
        std::this_thread::yield();
    }
    stage_.await(0, i);
    stage_.requests->waits().store(i * wire::wait_epoch);
    stage_.requests->give_back_slot(wire::ring_entry::slot_of(stage_.requests->entry(i - 1)));
  }
}

TEST_F(WorkerLanes, EveryRequestOfManySendersRunsOnce) {
  constexpr int senders = 3;
  constexpr int rounds = 300;
  constexpr int burst = 8;
  stage_.start(3);
  {
    std::vector<std::jthread> threads;
    threads.reserve(senders);
    for (int t = 0; t < senders; ++t) {
      threads.emplace_back([this, t] {
        const auto lane = static_cast<std::uint8_t>(t);
        for (int round = 0; round < rounds; ++round) {
          std::array<std::uint16_t, burst> slots{};
          for (std::size_t i = 0; i < burst; ++i) {
            // Mostly small, now and then large; all lanes meet in the first KiB.
            slots[i] = stage_.send({.updates = stage_.kib(0, i == 5 ? 100 : 1), .number = t}, lane);
          }
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
