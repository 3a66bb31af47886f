#include "worker/hazards.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <map>
#include <random>

namespace troupe {
namespace {

using worker::dependencies;

class Hazards : public testing::Test {
 protected:
  /// Admits the next request of a lane; answers what it waits for, by lane.
  std::map<int, std::uint64_t> admit(int lane, std::vector<wire::operand> operands) {
    const std::uint64_t place = ++places_[static_cast<std::size_t>(lane)];
    tracker_.admit(lane, place, operands, waits_);
    std::map<int, std::uint64_t> needed;
    for (int l = 0; l < wire::max_lanes; ++l) {
      if ((waits_.lanes >> l & 1u) != 0) needed[l] = waits_.need[static_cast<std::size_t>(l)];
    }
    return needed;
  }
  void complete(int lane, std::uint64_t count) {
    completed_[static_cast<std::size_t>(lane)].store(count);
  }
  static wire::operand use(access role, std::uint64_t begin, std::uint64_t end,
                           std::uint32_t buffer = 0, memory_space space = memory_space::device) {
    return {.buffer = buffer, .space = space, .role = role, .begin = begin, .end = end};
  }
  using waits = std::map<int, std::uint64_t>;

  worker::hazard_tracker::completed_counts completed_{};
  worker::hazard_tracker tracker_{completed_};
  std::array<std::uint64_t, wire::max_lanes> places_{};
  dependencies waits_;
};

TEST_F(Hazards, AReadWaitsForAnEarlierWrite) {
  EXPECT_EQ(admit(0, {use(access::write, 0, 100)}), waits{});
  EXPECT_EQ(admit(1, {use(access::read, 50, 60)}), (waits{{0, 1}}));
}

TEST_F(Hazards, AWriteWaitsForEveryEarlierRead) {
  admit(0, {use(access::read, 0, 100)});
  admit(1, {use(access::read, 0, 100)});
  EXPECT_EQ(admit(2, {use(access::write, 99, 200)}), (waits{{0, 1}, {1, 1}}));
}

TEST_F(Hazards, AWriteWaitsForAnEarlierWrite) {
  admit(0, {use(access::write, 0, 100)});
  EXPECT_EQ(admit(1, {use(access::write, 0, 100)}), (waits{{0, 1}}));
  EXPECT_EQ(admit(2, {use(access::update, 0, 1)}), (waits{{0, 1}, {1, 1}}));
}

TEST_F(Hazards, ReadsDoNotWaitForReads) {
  admit(0, {use(access::read, 0, 100)});
  EXPECT_EQ(admit(1, {use(access::read, 0, 100)}), waits{});
}

TEST_F(Hazards, DisjointBytesBuffersAndSpacesAreFree) {
  admit(0, {use(access::write, 0, 100)});
  EXPECT_EQ(admit(1, {use(access::write, 100, 200)}), waits{}) << "touching is not overlapping";
  EXPECT_EQ(admit(2, {use(access::write, 0, 100, 1)}), waits{});
  EXPECT_EQ(admit(3, {use(access::write, 0, 100, 0, memory_space::host)}), waits{});
  EXPECT_EQ(admit(4, {use(access::write, 50, 50)}), waits{}) << "no bytes, no hazard";
}

TEST_F(Hazards, TheSameLaneIsInOrderAlready) {
  admit(0, {use(access::write, 0, 100)});
  EXPECT_EQ(admit(0, {use(access::update, 0, 100)}), waits{});
}

TEST_F(Hazards, WhatHasCompletedIsNotWaitedFor) {
  admit(0, {use(access::write, 0, 100)});
  admit(0, {use(access::write, 200, 300)});
  complete(0, 1);
  EXPECT_EQ(admit(1, {use(access::read, 0, 300)}), (waits{{0, 2}}));
  complete(0, 2);
  EXPECT_EQ(admit(2, {use(access::read, 0, 300)}), waits{});
}

TEST_F(Hazards, TheLatestPlaceOfALaneStandsForAllBeforeIt) {
  admit(0, {use(access::write, 0, 10)});
  admit(0, {use(access::write, 10, 20)});
  admit(0, {use(access::write, 20, 30)});
  EXPECT_EQ(admit(1, {use(access::read, 20, 30), use(access::read, 0, 10)}), (waits{{0, 3}}));
}

TEST_F(Hazards, AReadAndAWriteOfOneRequestAreBothRemembered) {
  admit(0, {use(access::read, 0, 100), use(access::write, 0, 100)});
  EXPECT_EQ(admit(1, {use(access::read, 0, 100)}), (waits{{0, 1}}));
}

TEST_F(Hazards, TenThousandEqualReadsKeepOneRecord) {
  const auto before = ::mallinfo2().uordblks;
  for (int i = 0; i < 10'000; ++i)
    admit(0, {use(access::read, 0, 100)});
  // 10 000 records are hundreds of KiB; one is a few dozen bytes.
  EXPECT_LT(::mallinfo2().uordblks - before, 16u * 1024);
  EXPECT_EQ(admit(1, {use(access::write, 0, 100)}), (waits{{0, 10'000}})) << "and it is the last";
}

TEST_F(Hazards, RandomRequestsWaitForExactlyWhatADefinitionSays) {
  struct past {
    int lane;
    std::uint64_t place;
    wire::operand used;
  };
  std::mt19937 random(9);
  std::vector<past> history;
  for (int i = 0; i < 3'000; ++i) {
    const auto lane = static_cast<int>(random() % 6);
    const std::uint64_t begin = random() % 64;
    const auto role = static_cast<access>(random() % 3);
    const auto one =
        use(role, begin, begin + random() % 16, static_cast<std::uint32_t>(random() % 3));
    waits expected;
    for (const past& p : history) {
      const bool open = completed_[static_cast<std::size_t>(p.lane)].load() < p.place;
      const bool meet = p.used.buffer == one.buffer && p.used.begin < one.end &&
                        one.begin < p.used.end && one.begin != one.end &&
                        p.used.begin != p.used.end;
      if (open && meet && p.lane != lane && (role != access::read || p.used.role != access::read)) {
        expected[p.lane] = std::max(expected[p.lane], p.place);
      }
    }
    ASSERT_EQ(admit(lane, {one}), expected) << "request " << i;
    history.push_back({lane, places_[static_cast<std::size_t>(lane)], one});
    const auto other = static_cast<std::size_t>(random() % 6);
    if (completed_[other].load() < places_[other] && random() % 2 == 0) {
      completed_[other].fetch_add(1);
    }
  }
}

}  // namespace
}  // namespace troupe
