#include "stream_stage.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace troupe {
namespace {

using namespace testing_worker;

/// Three threads enqueue. Requests sent before the worker starts are all in its hands at once.
class WorkerSubmitters : public WorkerStreamLanes {
 protected:
  WorkerSubmitters() { stage_.submitters = 2; }
};

std::mutex threads_mutex;
std::set<std::thread::id> threads;  // that have enqueued something

result<void> note_thread(void*, const void* request, lane_context& where, std::byte* reply) {
  {
    const std::lock_guard lock(threads_mutex);
    threads.insert(std::this_thread::get_id());
  }
  return enqueue_step(nullptr, request, where, reply);
}

TEST_F(WorkerSubmitters, ShareTheWorkOfSeveralLanesAndKeepEachInOrder) {
  threads.clear();
  stage_.operations.insert({.type = &request_type_of<step>(), .run = &note_thread});
  for (std::int64_t i = 0; i < 20; ++i) {
    for (std::uint8_t lane = 0; lane < 3; ++lane)
      stage_.tell({.number = std::int64_t{lane} * 20 + i % 10}, lane);
  }
  start();
  for (std::uint8_t lane = 0; lane < 3; ++lane)
    stage_.await(lane, 20);
  EXPECT_EQ(threads.size(), 3u);
  for (int lane = 0; lane < 3; ++lane) {
    for (int i = 0; i < 9; ++i) {
      EXPECT_TRUE(before("begin " + std::to_string(lane * 20 + i),
                         "begin " + std::to_string(lane * 20 + i + 1)));
    }
  }
}

std::array<std::set<std::thread::id>, wire::max_lanes> threads_of;  // under the mutex
constexpr std::int64_t waits_for_more = 57;
std::atomic<bool> more_is_sent;

result<void> note_thread_of_lane(void*, const void* request, lane_context& where,
                                 std::byte* reply) {
  {
    const std::lock_guard lock(threads_mutex);
    threads_of[static_cast<std::size_t>(where.lane())].insert(std::this_thread::get_id());
  }
  while (static_cast<const step*>(request)->number == waits_for_more && !more_is_sent.load())
    std::this_thread::yield();
  return enqueue_step(nullptr, request, where, reply);
}

// A lane that comes back goes to a thread without one, also if others have kept theirs meanwhile.
TEST_F(WorkerSubmitters, HaveALaneEachHoweverOftenOneIsGivenBack) {
  for (auto& some : threads_of)
    some.clear();
  stage_.operations.insert({.type = &request_type_of<step>(), .run = &note_thread_of_lane});
  // Two lanes that keep busy: one of the reader's, one of a submitter's.
  for (std::int64_t lane = 0; lane < 2; ++lane)
    stage_.tell({.number = lane, .hold = true}, static_cast<std::uint8_t>(lane));
  for (int i = 0; i < 20; ++i) {
    for (std::uint8_t lane = 0; lane < 2; ++lane)
      stage_.tell({.number = 5}, lane);
  }
  start();
  await_enqueued(0, 21);
  await_enqueued(1, 21);
  constexpr int several = 6;
  constexpr std::uint64_t rounds = 26;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    {
      const std::lock_guard lock(threads_mutex);
      threads_of[2].clear();
    }
    more_is_sent.store(false);
    stage_.tell({.number = waits_for_more}, 0);  // keeps the reader busy
    for (int i = 0; i < several; ++i)
      stage_.tell({.number = 6}, 2);
    more_is_sent.store(true);
    stage_.await(2, round * (several + 1) + several);
    {
      const std::lock_guard lock(threads_mutex);
      for (const std::thread::id id : threads_of[2])
        EXPECT_FALSE(threads_of[1].contains(id)) << "round " << round;
    }
    stage_.tell({.number = 6}, 2);  // by itself: the reader takes the lane back for it
    stage_.await(2, (round + 1) * (several + 1));
  }
  let_end(0);
  let_end(1);
  stage_.await(0, 21 + rounds);
  stage_.await(1, 21);
}

TEST_F(WorkerSubmitters, LeaveASingleLaneToTheReader) {
  threads.clear();
  stage_.operations.insert({.type = &request_type_of<step>(), .run = &note_thread});
  for (std::int64_t i = 0; i < 40; ++i)
    stage_.tell({.number = 1}, 5);
  start();
  stage_.await(5, 40);
  EXPECT_EQ(threads.size(), 1u);
}

TEST_F(WorkerSubmitters, GiveALaneBackWhereAnotherReliesOnIt) {
  for (int round = 0; round < 5; ++round) {
    for (std::uint8_t lane = 0; lane < 3; ++lane)
      stage_.tell({.writes = stage_.kib(lane, 1), .number = 1}, lane);
  }
  stage_.tell({.writes = stage_.kib(1, 1), .number = 2, .hold = true}, 1);
  stage_.send({.reads = stage_.kib(0, 3), .number = 3}, 7);
  stage_.send({.writes = stage_.kib(0, 1), .number = 4}, 0);
  start();
  until(stage_.steps.begun[2]);
  let_end(2);
  stage_.await(7, 1);
  stage_.await(0, 6);
  EXPECT_TRUE(before("end 2", "begin 3"));
  EXPECT_TRUE(before("end 3", "begin 4"));
}

TEST_F(WorkerSubmitters, ReportALossOnce) {
  for (int i = 0; i < 10; ++i) {
    stage_.tell({.number = 1}, 0);
    stage_.tell({.number = finds_the_context_lost}, 1);
  }
  start();
  await_loss();
  EXPECT_EQ(lost_code_, errc::device_fault);
  EXPECT_EQ(completed(1), 0u);
  stage_.lanes->stop();
  EXPECT_EQ(losses_, 1);
}

TEST_F(WorkerSubmitters, SleepAndWakeWithTheLoad) {
  start();
  for (std::uint64_t round = 1; round <= 3; ++round) {
    for (std::int64_t i = 0; i < 30; ++i) {
      for (std::uint8_t lane = 0; lane < 2; ++lane)
        stage_.tell({.number = lane}, lane);
    }
    stage_.await(0, round * 30);
    stage_.await(1, round * 30);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // longer than they spin
  }
}

}  // namespace
}  // namespace troupe
