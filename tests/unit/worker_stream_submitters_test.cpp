#include "worker_stream_stage.hpp"

#include <gtest/gtest.h>

#include <set>

namespace troupe {
namespace {

using namespace testing_worker;

/// Three threads enqueue. What is sent before the worker starts is in its hands all at once.
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
