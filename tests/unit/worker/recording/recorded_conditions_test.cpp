// Conditions of graphs that fake lanes record; results are those of a worker that waits for each.

#include "recordings_fixture.hpp"

#include <gtest/gtest.h>

#include <random>

namespace troupe::testing_worker {
namespace {

using graph::node_kind;

class RecordedConditions : public GraphRecordings {
 protected:
  RecordedConditions() {
    table_.insert({.type = &request_type_of<memory::copy>(), .run = &copy_number});
  }

  /// While number 1 is not zero: number 0 += 10 and number 1 −= 1.
  void make_loop() {
    graph::definition d;
    d.bodies.resize(1);
    add(d, affine{.x = at(0), .value = 1});
    add_condition(d, node_kind::repeat, 1, 1);
    add(d, affine{.x = at(0), .value = 10}, 1);
    add(d, affine{.x = at(1), .value = -1}, 1);
    add(d, affine{.x = at(0), .factor = 2});
    make_of(std::move(d));
  }
  void run_loop(std::int64_t rounds) {
    numbers_ = {0, rounds, 0, 0};
    ASSERT_TRUE(run());
    ASSERT_EQ(numbers_[0], (1 + 10 * rounds) * 2);
    ASSERT_EQ(numbers_[1], 0);
    ASSERT_EQ(rows_[2].ticket != 0, rounds > 0) << "a reply is there if its body ran";
    if (rounds > 0) {
      ASSERT_EQ(reply(2), 1 + 10 * rounds);
    }
  }
};

TEST_F(RecordedConditions, ALoopIsAPartOfTheRecording) {
  make_loop();
  run_loop(3);
  EXPECT_EQ(calls, 8);
  for (const std::int64_t rounds : {5, 0, 1, 40})
    run_loop(rounds);
  EXPECT_EQ(calls, 8 + 4) << "recorded once";
  EXPECT_EQ(device_.recorded_conditions.load(), 1);
  const auto info = graph_->info();
  ASSERT_EQ(info.segments.size(), 1U);
  EXPECT_TRUE(info.segments[0].is_recorded);
  EXPECT_EQ(info.segments[0].requests, 4);
  EXPECT_EQ(info.launches, 4);
}

TEST_F(RecordedConditions, AreRecordedOnceTheirBodiesHaveRun) {
  make_loop();
  run_loop(0);
  run_loop(0);
  EXPECT_EQ(device_.recordings.load(), 0);
  run_loop(2);
  run_loop(2);
  EXPECT_EQ(device_.recordings.load(), 1);
  run_loop(0);
  EXPECT_EQ(graph_->info().launches, 2);
}

TEST_F(RecordedConditions, WhoseBodiesNeverRunAreLeftToTheWorker) {
  make_loop();
  for (int i = 0; i < 40; ++i)
    run_loop(0);
  run_loop(2);
  EXPECT_EQ(device_.recorded_conditions.load(), 0);
  const auto info = graph_->info();
  ASSERT_EQ(info.segments.size(), 4U) << "three of the graph, one of the body";
  EXPECT_EQ(info.segments[1].why,
            "the worker waits for the value of a condition: request 2 of a body: it did not "
            "run in the first runs");
}

TEST_F(RecordedConditions, WaitForCallsThatMayChangeInABranchThatIsNotTaken) {
  graph::definition d;
  d.bodies.resize(1);
  add_condition(d, node_kind::when, 1, 2);
  add(d, affine{.x = at(0), .value = settles}, 1);
  add(d, affine{.x = at(0), .value = 1}, 2);
  make_of(std::move(d));
  for (const std::int64_t which : {1, 0, 1}) {  // the third call will not change
    numbers_[1] = which;
    ASSERT_TRUE(run());
    EXPECT_EQ(device_.recordings.load(), 0);
  }
  ASSERT_TRUE(run());
  EXPECT_EQ(device_.recordings.load(), 1);
  EXPECT_EQ(numbers_[0], 3 * settles + 1);
}

TEST_F(RecordedConditions, AreLeftToTheWorkerWithoutADeviceThatLooks) {
  device_.looks_itself = false;
  make_loop();
  for (const std::int64_t rounds : {3, 0, 2, 4})
    run_loop(rounds);
  ASSERT_GT(graph_->info().segments.size(), 1U);
  EXPECT_EQ(graph_->info().segments[1].why, "the worker waits for the value of a condition");
}

TEST_F(RecordedConditions, AreLeftToTheWorkerIfTheyCannotBeRecorded) {
  make_loop();
  run_loop(1);
  device_.looks_itself = false;  // asked when the graph was made
  for (const std::int64_t rounds : {3, 1, 2, 4, 0, 2})
    run_loop(rounds);
  const auto info = graph_->info();
  ASSERT_GT(info.segments.size(), 1U);
  EXPECT_EQ(info.segments[1].why, "recording it failed: the fake looks at no condition");
  EXPECT_TRUE(info.segments.back().is_recorded) << "the body is";
}

TEST_F(RecordedConditions, AreLeftToTheWorkerIfTheRecordingCannotBeEnded) {
  make_loop();
  run_loop(1);
  device_.fails_to_end_recording = true;
  for (const std::int64_t rounds : {2, 1, 3})
    run_loop(rounds);
  device_.fails_to_end_recording = false;
  for (const std::int64_t rounds : {3, 0, 2, 4})
    run_loop(rounds);
  const auto info = graph_->info();
  ASSERT_GT(info.segments.size(), 1U);
  EXPECT_EQ(info.segments[1].why, "recording it failed: the recording is void");
  EXPECT_EQ(info.why, "");
}

TEST_F(RecordedConditions, WithARequestOnNoListAreLeftToTheWorker) {
  graph::definition d;
  d.bodies.resize(1);
  unlisted u;
  u.x = at(1);
  u.value = -1;
  add_condition(d, node_kind::repeat, 1, 1);
  add(d, affine{.x = at(0), .value = 10}, 1);
  add(d, affine{.x = at(0), .factor = 2}, 1);
  add(d, u, 1);
  make_of(std::move(d));
  for (int i = 0; i < 4; ++i) {
    numbers_ = {0, 2, 0, 0};
    ASSERT_TRUE(run());
    EXPECT_EQ(numbers_[0], 60);
  }
  const auto info = graph_->info();
  ASSERT_EQ(info.segments.size(), 3U);
  EXPECT_TRUE(info.segments[1].is_recorded) << "within the body";
  EXPECT_EQ(info.segments[0].why,
            "the worker waits for the value of a condition: request 3 of a body: it is not on its "
            "library's list");
}

TEST_F(RecordedConditions, ALoopThatNeverEndsFailsTheRun) {
  graph::definition d;
  d.bodies.resize(1);
  add_condition(d, node_kind::repeat, 1, 1).at_most = 5;
  add(d, affine{.x = at(0), .value = 1}, 1);
  make_of(std::move(d));
  numbers_[1] = 1;
  auto called = run();
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().code, errc::numerical);
  EXPECT_EQ(numbers_[0], 5);

  graph::definition e;
  e.bodies.resize(1);
  add_condition(e, node_kind::repeat, 1, 1).at_most = 5;
  add(e, affine{.x = at(0), .value = 1}, 1);
  add(e, affine{.x = at(1), .value = -1}, 1);
  make_of(std::move(e));
  numbers_ = {0, 5, 0, 0};
  ASSERT_TRUE(run());
  numbers_ = {0, 5, 0, 0};
  ASSERT_TRUE(run());
  EXPECT_EQ(failed_.code, 0);
  numbers_ = {0, 6, 0, 0};
  ASSERT_TRUE(run());
  EXPECT_EQ(failed_.code, static_cast<std::uint16_t>(errc::numerical));
  EXPECT_EQ(numbers_[0], 5);
  EXPECT_EQ(device_.recorded_conditions.load(), 1);
}

// Each run takes other branches; all is as if the worker looked.
TEST_F(RecordedConditions, AnswerAsTheWorkerDoesForRandomGraphs) {
  std::mt19937 random(11);
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  std::vector<std::vector<std::int64_t>> inputs(40);
  for (auto& one : inputs)
    for (int i = 0; i < 6; ++i)
      one.push_back(below(4));
  for (int round = 0; round < 30; ++round) {
    graph::definition d;
    d.bodies.resize(1);
    numbers_.assign(6, 0);
    rows_.assign(256, {});
    const auto add_some = [&](auto& self, std::uint64_t body, int depth) -> void {
      for (int count = 1 + below(4); count > 0; --count) {
        const auto on = static_cast<std::uint64_t>(below(3));
        if (depth < 2 && d.nodes.size() < 60 && below(3) == 0) {
          const auto kind = static_cast<node_kind>(1 + below(3));
          const auto bodies =
              static_cast<std::uint64_t>(kind == node_kind::repeat ? 1 : 1 + below(2));
          const auto first = add_condition(d, kind, on, bodies, body).first_body;
          for (std::uint64_t b = first; b < first + bodies; ++b)
            self(self, b, depth + 1);
          // Only such requests, and loops, change a condition: loops end.
          if (kind == node_kind::repeat) add(d, affine{.x = at(on), .factor = 0}, first);
        } else {
          const std::size_t to = 3 + static_cast<std::size_t>(below(3));
          add(d, affine{.x = at(to), .factor = 1, .value = 1 + below(9)}, body);
        }
      }
    };
    add_some(add_some, 0, 0);
    std::vector<std::vector<std::int64_t>> found[2];
    for (const bool looks : {false, true}) {
      device_.looks_itself = looks;
      make_of(d);
      for (const auto& input : inputs) {
        numbers_ = input;
        ASSERT_TRUE(run());
        auto all = numbers_;
        for (const graph::node& n : d.nodes) {
          if (n.kind != node_kind::request) continue;
          all.push_back(rows_[n.reply].ticket != 0 ? reply(n.reply) : -1);
        }
        found[looks ? 1 : 0].push_back(std::move(all));
      }
    }
    ASSERT_EQ(found[0], found[1]) << round;
  }
  EXPECT_GT(device_.recorded_conditions.load(), 20);
}

}  // namespace
}  // namespace troupe::testing_worker
