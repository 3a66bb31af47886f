#include "wire/byte_ranges.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace troupe::wire {
namespace {

using ranges = std::vector<byte_range>;
using bytes = std::set<std::pair<std::uint64_t, std::uint64_t>>;  // buffer and byte

bytes bytes_of(const ranges& list) {
  bytes all;
  for (const byte_range& r : list) {
    for (std::uint64_t i = r.begin; i < r.end; ++i)
      all.emplace(r.buffer, i);
  }
  return all;
}

ranges random_ranges(std::mt19937& random, std::size_t count, std::uint64_t room) {
  ranges list;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t begin = random() % room;
    list.push_back({.buffer = random() % 3, .begin = begin, .end = begin + random() % 8});
  }
  return list;
}

std::map<std::uint64_t, ranges> by_buffer(const ranges& list) {
  std::map<std::uint64_t, ranges> groups;
  for (const byte_range& r : list)
    groups[r.buffer].push_back(r);
  return groups;
}

/// The bytes between neighbours, the widest first.
std::vector<std::uint64_t> gaps_of(const ranges& list) {
  std::vector<std::uint64_t> gaps;
  for (std::size_t i = 1; i < list.size(); ++i)
    gaps.push_back(list[i].begin - list[i - 1].end);
  std::ranges::sort(gaps, std::greater<>());
  return gaps;
}

TEST(WireByteRanges, JoinedAreTheSameBytesInOrderWithGapsBetween) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const ranges before = random_ranges(random, random() % 60, 200);
    ranges after = before;
    join(after);
    ASSERT_EQ(bytes_of(after), bytes_of(before));
    for (const byte_range& r : after)
      ASSERT_LT(r.begin, r.end);
    for (std::size_t k = 1; k < after.size(); ++k) {
      ASSERT_TRUE(after[k - 1].buffer < after[k].buffer ||
                  (after[k - 1].buffer == after[k].buffer && after[k - 1].end < after[k].begin));
    }
  }
}

TEST(WireByteRanges, CoarsenedKeepTheWidestGapsOfEachBuffer) {
  std::mt19937 random(2);
  for (int i = 0; i < 500; ++i) {
    ranges before = random_ranges(random, random() % 150, 600);
    join(before);
    const std::size_t most = 1 + random() % 12;
    ranges after = before;
    coarsen(after, most);
    ASSERT_TRUE(std::ranges::includes(bytes_of(after), bytes_of(before)));
    const auto coarse = by_buffer(after);
    for (const auto& [buffer, fine] : by_buffer(before)) {
      const ranges& left = coarse.at(buffer);
      ASSERT_EQ(left.size(), std::min(fine.size(), most));
      ASSERT_EQ(left.front().begin, fine.front().begin);
      ASSERT_EQ(left.back().end, fine.back().end);
      std::vector<std::uint64_t> widest = gaps_of(fine);
      widest.resize(left.size() - 1);
      ASSERT_EQ(gaps_of(left), widest);
    }
  }
}

TEST(WireByteRanges, MeetWhereAByteIsInBoth) {
  std::mt19937 random(3);
  int met = 0;
  for (int i = 0; i < 2'000; ++i) {
    ranges one = random_ranges(random, random() % 12, 100);
    ranges other = random_ranges(random, random() % 12, 100);
    const bytes of_one = bytes_of(one);
    const bytes of_other = bytes_of(other);
    bytes both;
    std::ranges::set_intersection(of_one, of_other, std::inserter(both, both.end()));
    join(one);
    join(other);
    ASSERT_EQ(meet(one, other), !both.empty());
    ASSERT_EQ(meet(other, one), !both.empty());
    met += both.empty() ? 0 : 1;
  }
  EXPECT_GT(met, 500) << "both answers were asked for";
  EXPECT_LT(met, 1'500);
}

TEST(WireByteRanges, TouchingIsNotMeeting) {
  EXPECT_FALSE(meet(ranges{{0, 0, 10}}, ranges{{0, 10, 20}}));
  EXPECT_FALSE(meet(ranges{{0, 0, 10}}, ranges{{1, 0, 10}}));
  EXPECT_FALSE(meet(ranges{}, ranges{{0, 0, 10}}));
}

}  // namespace
}  // namespace troupe::wire
