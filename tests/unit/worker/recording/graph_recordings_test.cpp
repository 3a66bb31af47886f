// Recordings of graphs on fake lanes; results are those of calls.

#include "recordings_fixture.hpp"
#include "wire/codec.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>

namespace troupe::testing_worker {
namespace {

TEST_F(GraphRecordings, CallsThenRecordsThenLaunchesOnce) {
  make(affine{.x = at(0), .factor = 3, .value = 1}, affine{.x = at(1), .y = at(0), .value = 2},
       affine{.x = at(0), .factor = 2});
  std::int64_t x = 0;
  for (int i = 1; i <= 5; ++i) {
    ASSERT_TRUE(run());
    x = (3 * x + 1 + 2) * 2;
    EXPECT_EQ(numbers_[0], x);
    EXPECT_EQ(numbers_[1], 2 * i);
    EXPECT_EQ(reply(2), x);
    EXPECT_NE(rows_[1].ticket, 0U);
    EXPECT_EQ(rows_[1].reply_bytes, sizeof(std::int64_t));
    EXPECT_EQ(calls, i == 1 ? 3 : 6);
    EXPECT_EQ(device_.launches.load(), i < 2 ? 0 : i - 1);
  }
  EXPECT_EQ(device_.recordings.load(), 1);
  const auto info = graph_->info();
  ASSERT_EQ(info.segments.size(), 1U);
  EXPECT_TRUE(info.segments[0].is_recorded);
  EXPECT_EQ(info.runs, 5);
  EXPECT_EQ(info.launches, 4);
  EXPECT_EQ(info.operations, 3);
  EXPECT_EQ(info.why, "");
}

TEST_F(GraphRecordings, CallsWhatIsOnNoListBetweenSegments) {
  unlisted u;
  u.x = at(0);
  u.factor = 2;
  make(affine{.x = at(0), .value = 1}, affine{.x = at(0), .value = 2}, u,
       affine{.x = at(0), .factor = 5}, affine{.x = at(0), .value = 4}, u,
       affine{.x = at(0), .value = 9});
  std::int64_t x = 0;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(run());
    x = (((x + 3) * 2) * 5 + 4) * 2 + 9;
    ASSERT_EQ(numbers_[0], x) << i;
  }
  EXPECT_EQ(device_.recordings.load(), 2);
  EXPECT_EQ(device_.launches.load(), 6);
  const auto info = graph_->info();
  ASSERT_EQ(info.segments.size(), 5U);
  EXPECT_EQ(info.segments[1].why, "it is not on its library's list");
  EXPECT_EQ(info.segments[3].first, 5);
  EXPECT_EQ(info.segments[4].why, "it is alone");
}

TEST_F(GraphRecordings, LeavesARequestOutWhoseRecordingFailed) {
  for (const std::int64_t what : {spoils, refuses}) {
    SCOPED_TRACE(what);
    numbers_.assign(4, 0);
    const int twins = device_.twins.load();
    make(affine{.x = at(0), .value = 1}, affine{.x = at(0), .value = 2},
         affine{.x = at(0), .value = what}, affine{.x = at(0), .value = 3},
         affine{.x = at(0), .value = 4});
    for (int i = 1; i <= 7; ++i) {
      ASSERT_TRUE(run());
      ASSERT_EQ(numbers_[0], i * (10 + what)) << i;
    }
    EXPECT_EQ(device_.twins.load(), twins + (twins == 0 ? 3 : 2)) << "the old ones are suspect";
    const auto info = graph_->info();
    ASSERT_EQ(info.segments.size(), 3U);
    EXPECT_TRUE(info.segments[0].is_recorded);
    EXPECT_EQ(info.segments[1].why.find("recording it failed"), 0U) << info.segments[1].why;
    EXPECT_TRUE(info.segments[2].is_recorded);
    EXPECT_GT(info.launches, 0);
  }
}

TEST_F(GraphRecordings, TriesAgainAfterARecordingThatFailedOnce) {
  make(affine{.x = at(0), .value = refuses_once}, affine{.x = at(0), .value = 2});
  refused = false;
  for (int i = 1; i <= 5; ++i) {
    ASSERT_TRUE(run());
    ASSERT_EQ(numbers_[0], i * (2 + refuses_once)) << i;
  }
  EXPECT_EQ(graph_->info().recordings, 1);
  EXPECT_EQ(graph_->info().why, "");
}

TEST_F(GraphRecordings, GivesUpWhatCannotBeInstantiated) {
  device_.fails_to_end_recording = true;
  make(affine{.x = at(0), .value = 1}, affine{.x = at(0), .value = 2});
  run_times(10);
  EXPECT_EQ(numbers_[0], 30);
  EXPECT_EQ(graph_->info().why, "the recording is void");
  EXPECT_EQ(device_.launches.load(), 0);
  device_.records = false;
  make(affine{.x = at(1), .value = 1}, affine{.x = at(1), .value = 2});
  run_times(3);
  EXPECT_EQ(numbers_[1], 9);
  EXPECT_NE(graph_->info().why, "");
}

TEST_F(GraphRecordings, KeepsTheRoomThatItWasRecordedWith) {
  make(affine{.x = at(0), .value = 1, .workspace = 64}, affine{.x = at(0), .factor = 2});
  run_times(3);
  const auto first = graph_;
  make(affine{.x = at(1), .value = 1, .workspace = 1 << 20}, affine{.x = at(1), .factor = 2});
  run_times(3);
  graph_ = first;
  run_times(1);
  EXPECT_EQ(numbers_[0], 30);
}

TEST_F(GraphRecordings, KeepsObjectsThatACacheDrops) {
  cached = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = cached;
  make(affine{.x = at(0), .value = 1}, affine{.x = at(0), .factor = 2});
  run_times(2);
  cached.reset();
  EXPECT_FALSE(watched.expired());
  run_times(1);
  graph_->note_unmapped(1);
  EXPECT_TRUE(watched.expired());
}

TEST_F(GraphRecordings, RecordsAnewAfterMemoryWasUnmapped) {
  make(affine{.x = at(0), .value = 1}, affine{.x = at(0), .factor = 2});
  run_times(3);
  graph_->note_unmapped(1);
  run_times(2);
  EXPECT_EQ(device_.recordings.load(), 2);
  EXPECT_EQ(numbers_[0], 62);
}

TEST_F(GraphRecordings, RecordsNoCallThatMayChange) {
  make(affine{.x = at(0), .value = settles}, affine{.x = at(0), .value = 1});
  run_times(2);
  EXPECT_EQ(device_.recordings.load(), 0);
  run_times(2);
  EXPECT_EQ(device_.recordings.load(), 1);
}

TEST_F(GraphRecordings, AsksALibraryForEachRequest) {
  make(affine{.x = at(0), .value = 1}, affine{.x = at(0), .value = 2},
       affine{.x = at(0), .factor = 7}, affine{.x = at(0), .value = 3},
       affine{.x = at(0), .value = 4});
  std::int64_t x = 0;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(run());
    x = (x + 3) * 7 + 7;
    ASSERT_EQ(numbers_[0], x);
  }
  const auto info = graph_->info();
  ASSERT_EQ(info.segments.size(), 3U);
  EXPECT_EQ(info.segments[1].why, "its library cannot record it with these fields");
  EXPECT_EQ(info.recordings, 2);
}

// The call makes it, and a launch calls nothing.
TEST_F(GraphRecordings, KeepsDescribedReplies) {
  make(affine{.x = at(0), .value = 1}, told{.x = at(0)});
  for (int i = 1; i <= 4; ++i) {
    std::memset(static_cast<void*>(rows_.data()), 0x22, rows_.size() * sizeof(rows_[0]));
    ASSERT_TRUE(run());
    EXPECT_EQ(numbers_[0], 2 * i);
    EXPECT_NE(rows_[1].ticket, 0U);
    told_reply found;
    std::vector<wire::operand> none;
    const auto bytes = std::span(rows_[1].bytes).first(rows_[1].reply_bytes);
    ASSERT_TRUE(wire::decode(*request_type_of<told>().described_reply, &found, bytes, {}, none));
    EXPECT_EQ(found.number, 7);
    EXPECT_EQ(found.by, "told");
  }
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(device_.launches.load(), 3);
}

TEST_F(GraphRecordings, ChangesNoRecordingThatRuns) {
  make(affine{.x = at(0), .value = stands}, affine{.x = at(0), .value = 1});
  std::deque<std::vector<std::int64_t>> others(10, std::vector<std::int64_t>(4));
  std::deque<std::vector<wire::reply_slot>> rows(10, std::vector<wire::reply_slot>(8));
  run_times(1);
  go_on = false;
  for (std::size_t i = 0; i < others.size(); ++i)
    ASSERT_TRUE(run_on(others[i], rows[i], false));
  EXPECT_EQ(device_.recordings.load(), 8) << "all variants run, so the others were called";
  EXPECT_EQ(graph_->info().variants, 8);
  go_on = true;
  ASSERT_TRUE(lane_->finish());
  ASSERT_TRUE(run_on(others[9], rows[9]));
  EXPECT_EQ(device_.changed_recordings.load(), 1);
  for (std::size_t i = 0; i < others.size(); ++i)
    EXPECT_EQ(others[i][0], (i == 9 ? 2 : 1) * (stands + 1));
}

// Such a view says which part of a tensor a request writes: its place is in no recording.
TEST_F(GraphRecordings, IsLaunchedWhereverAViewLiesThatNoRequestUses) {
  make(affine{.x = at(0), .value = 1}, affine{.x = at(1), .value = 2});
  std::int64_t elsewhere[100];
  for (std::int64_t& one : elsewhere) {
    ASSERT_TRUE(run_with({at(0), at(1), at(2), view(&one)}, rows_));
  }
  EXPECT_EQ(numbers_[1], 200);
  EXPECT_EQ(graph_->info().recordings, 1);
  EXPECT_EQ(graph_->info().launches, 99);
}

TEST_F(GraphRecordings, GivesUpWhenTensorsChangeAtEveryRun) {
  make(affine{.x = at(0), .value = 1}, affine{.x = at(0), .factor = 2});
  std::deque<std::vector<std::int64_t>> others(80, std::vector<std::int64_t>(4));
  for (auto& one : others) {
    ASSERT_TRUE(run_on(one, rows_));
    ASSERT_EQ(one[0], 2);
  }
  EXPECT_EQ(graph_->info().why, "its tensors or values change at every run");
  EXPECT_EQ(graph_->info().variants, 0);
}

TEST_F(GraphRecordings, AnswersAsCallsDoForRandomGraphs) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    numbers_.assign(6, 1);
    rows_.assign(64, {});
    graph::definition d;
    d.bodies.resize(1);
    std::vector<affine> requests;
    const std::size_t count = 1 + random() % 60;
    for (std::size_t i = 0; i < count; ++i) {
      const auto below = [&](int n) {
        return static_cast<std::int64_t>(random() % static_cast<unsigned>(n));
      };
      affine one{.x = at(random() % 6), .factor = 1 + below(3) / 2, .value = below(100)};
      if (random() % 3 == 0) one.y = at(random() % 6);
      if (!one.y.null() && one.y.address() == one.x.address()) one.y = {};
      one.workspace = below(4) == 0 ? 8 << below(10) : 0;
      if (random() % 8 == 0) {
        unlisted other;
        static_cast<affine&>(other) = one;
        other.y = {};
        add(d, other);
        one.y = {};
      } else {
        add(d, one);
      }
      requests.push_back(one);
    }
    make_of(std::move(d));
    std::vector<std::int64_t> expected = numbers_;
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(run());
      for (std::size_t k = 0; k < count; ++k) {
        const affine& r = requests[k];
        auto& x = expected[static_cast<std::size_t>(r.x.data<std::int64_t>() - numbers_.data())];
        x = x * r.factor + r.value;
        ASSERT_EQ(reply(k), x) << round << ' ' << i << ' ' << k;
        if (r.y.null()) continue;
        auto& y = expected[static_cast<std::size_t>(r.y.data<std::int64_t>() - numbers_.data())];
        y = y * r.factor + r.value;
      }
      ASSERT_EQ(numbers_, expected) << round << ' ' << i;
    }
  }
  EXPECT_GT(device_.launches.load(), 100);
}

}  // namespace
}  // namespace troupe::testing_worker
