#include "worker/threads/hazards.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
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
                           std::uint32_t buffer = 0, wire::pool_number pool = wire::device_pool) {
    return {.buffer = buffer, .pool = pool, .role = role, .begin = begin, .end = end};
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

TEST_F(Hazards, DisjointBytesBuffersAndPoolsAreFree) {
  admit(0, {use(access::write, 0, 100)});
  EXPECT_EQ(admit(1, {use(access::write, 100, 200)}), waits{}) << "touching is not overlapping";
  EXPECT_EQ(admit(2, {use(access::write, 0, 100, 1)}), waits{});
  EXPECT_EQ(admit(3, {use(access::write, 0, 100, 0, wire::host_pool)}), waits{});
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

TEST_F(Hazards, SlicesOfALongListThatTouchAreOne) {
  std::vector<wire::operand> slices;
  for (std::uint64_t i = 0; i < 1'000; ++i)
    slices.push_back(use(access::write, 100 + 10 * i, 110 + 10 * i));
  EXPECT_EQ(admit(0, slices), waits{});
  EXPECT_EQ(admit(1, {use(access::read, 0, 100), use(access::read, 10'100, 10'200)}), waits{});
  EXPECT_EQ(admit(2, {use(access::read, 5'000, 5'001)}), (waits{{0, 1}}));
}

TEST_F(Hazards, OfALongListOnlyTheWidestGapsAreFree) {
  // So many records are kept of it, and no more: the gaps grow wider from left to right.
  constexpr std::uint64_t count = 1'000;
  std::vector<wire::operand> slices;
  std::vector<wire::operand> gaps;
  for (std::uint64_t i = 0, begin = 0; i < count; ++i) {
    slices.push_back(use(access::read, begin, begin + 10));
    gaps.push_back(use(access::write, begin + 10, begin + 11 + i));
    begin += 11 + i;
  }
  gaps.pop_back();
  admit(0, slices);
  std::size_t free = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const bool waited = !admit(1, {gaps[i]}).empty();
    free += waited ? 0 : 1;
    EXPECT_EQ(waited, i < gaps.size() - (worker::hazard_tracker::most_apart - 1)) << i;
  }
  EXPECT_EQ(free, worker::hazard_tracker::most_apart - 1);
}

TEST_F(Hazards, ALongListIsReadAndWrittenApart) {
  std::vector<wire::operand> used;
  for (std::uint64_t i = 0; i < 100; ++i) {
    used.push_back(use(access::read, 10 * i, 10 * i + 10));
    used.push_back(use(access::update, 2'000 + 10 * i, 2'010 + 10 * i));
    used.push_back(use(access::write, 10 * i, 10 * i + 10, 0, wire::host_pool));
  }
  admit(0, used);
  EXPECT_EQ(admit(1, {use(access::read, 0, 1'000)}), waits{});
  EXPECT_EQ(admit(2, {use(access::read, 2'500, 2'600)}), (waits{{0, 1}}));
  EXPECT_EQ(admit(3, {use(access::read, 2'500, 2'600, 0, wire::host_pool)}), waits{});
  EXPECT_EQ(admit(4, {use(access::read, 500, 600, 0, wire::host_pool)}), (waits{{0, 1}}));
}

TEST_F(Hazards, EqualBuffersAndBytesOfThreePoolsAreThreePlaces) {
  constexpr wire::pool_number last = wire::pool_count - 1;
  const auto slices = [](access role, wire::pool_number pool) {
    std::vector<wire::operand> all;
    // More than one byte of a buffer number.
    for (std::uint64_t i = 0; i <= worker::hazard_tracker::most_apart; ++i)
      all.push_back(use(role, 10 * i, 10 * i + 10, 0xffff, pool));
    return all;
  };
  const auto one = [](access role, wire::pool_number pool) {
    return std::vector{use(role, 5, 6, 0xffff, pool)};
  };
  // Alone, and in a list that is so long that its operands are joined.
  for (const bool long_list : {false, true}) {
    const auto used = [&](access role, wire::pool_number pool) {
      return long_list ? slices(role, pool) : one(role, pool);
    };
    const int first = long_list ? 10 : 0;
    EXPECT_EQ(admit(first, used(access::write, wire::device_pool)), waits{});
    EXPECT_EQ(admit(first + 1, used(access::write, wire::first_peer_pool)), waits{});
    EXPECT_EQ(admit(first + 2, used(access::write, last)), waits{});
    EXPECT_EQ(admit(first + 3, one(access::read, wire::host_pool)), waits{});
    EXPECT_EQ(admit(first + 4, one(access::read, wire::device_pool)), (waits{{first, 1}}));
    EXPECT_EQ(admit(first + 5, one(access::read, wire::first_peer_pool)), (waits{{first + 1, 1}}));
    EXPECT_EQ(admit(first + 6, one(access::read, last)), (waits{{first + 2, 1}}));
    for (int lane = first; lane < first + 7; ++lane)
      complete(lane, 1);
  }
}

TEST_F(Hazards, WhatALongListOverwritesWasReadBefore) {
  std::vector<wire::operand> slices;
  for (std::uint64_t i = 0; i < 100; ++i)
    slices.push_back(use(access::write, 10 * i, 10 * i + 10));
  admit(0, {use(access::read, 995, 1'005)});
  admit(0, {use(access::read, 1'000, 1'010)});
  admit(0, slices);
  EXPECT_EQ(waits_.read_before, 1u);
  for (wire::operand& o : slices)
    o.role = access::read;
  admit(0, slices);
  EXPECT_EQ(waits_.read_before, 0u);
  admit(0, {use(access::write, 999, 1'001)});
  EXPECT_EQ(waits_.read_before, 4u);
}

TEST_F(Hazards, RandomRequestsOfAnyLengthNeverWaitForLessThanADefinitionSays) {
  struct past {
    int lane;
    std::uint64_t place;
    std::vector<wire::operand> used;
    bool exact;
  };
  const auto clash = [](const std::vector<wire::operand>& one,
                        const std::vector<wire::operand>& other, auto counts) {
    return std::ranges::any_of(one, [&](const wire::operand& a) {
      return std::ranges::any_of(other, [&](const wire::operand& b) {
        return a.buffer == b.buffer && a.pool == b.pool && a.begin < b.end && b.begin < a.end &&
               a.begin < a.end && b.begin < b.end &&
               counts(a.role != access::read, b.role != access::read);
      });
    });
  };
  std::mt19937 random(11);
  std::vector<past> history;
  for (int i = 0; i < 400; ++i) {
    past next{.lane = static_cast<int>(random() % 5), .place = 0, .used = {}, .exact = true};
    const std::size_t count = random() % 3 == 0 ? random() % 400 : random() % 8;
    const bool touching = random() % 2 == 0;
    const auto side_by_side = static_cast<access>(random() % 3);
    std::uint64_t begin = random() % 20'000;
    for (std::size_t k = 0; k < count; ++k) {
      // Slices side by side, in one role; or anything anywhere.
      if (!touching) begin = random() % 20'000;
      const auto role = touching ? side_by_side : static_cast<access>(random() % 3);
      const auto buffer = touching ? 0 : static_cast<std::uint32_t>(random() % 3);
      next.used.push_back(use(role, begin, begin + 8, buffer));
      begin += 8;
    }
    next.exact = touching || count <= worker::hazard_tracker::most_apart;
    std::ranges::shuffle(next.used, random);

    waits least;
    std::uint64_t read_before = 0;
    bool exact = next.exact;
    for (const past& p : history) {
      if (completed_[static_cast<std::size_t>(p.lane)].load() >= p.place) continue;
      exact = exact && p.exact;
      if (p.lane != next.lane) {
        const auto ordered = [](bool was, bool is) { return was || is; };
        if (clash(p.used, next.used, ordered)) least[p.lane] = std::max(least[p.lane], p.place);
      } else if (clash(p.used, next.used, [](bool was, bool is) { return !was && is; })) {
        read_before = std::max(read_before, p.place);
      }
    }
    const waits most = admit(next.lane, next.used);
    for (const auto& [lane, place] : least) {
      ASSERT_TRUE(most.contains(lane)) << "request " << i;
      ASSERT_GE(most.at(lane), place) << "request " << i;
    }
    ASSERT_GE(waits_.read_before, read_before) << "request " << i;
    if (exact) {
      ASSERT_EQ(most, least) << "request " << i;
      ASSERT_EQ(waits_.read_before, read_before) << "request " << i;
    }
    next.place = places_[static_cast<std::size_t>(next.lane)];
    history.push_back(std::move(next));
    for (std::size_t lane = 0; lane < 5; ++lane) {
      // Now and then all are done, so that what is coarse does not blur everything after it.
      if (completed_[lane].load() < places_[lane] && (random() % 2 == 0 || i % 20 == 0)) {
        i % 20 == 0 ? completed_[lane].store(places_[lane]) : void(completed_[lane].fetch_add(1));
      }
    }
  }
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
