#include "memory/arena.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <vector>

namespace troupe {
namespace {

constexpr std::uint64_t arena_granule = 64;

TEST(Arena, RoundsToAtMostEightStepsPerDoublingAndToGranules) {
  const arena a(arena_granule);
  EXPECT_EQ(a.rounded(0), arena_granule);
  EXPECT_EQ(a.rounded(1), arena_granule);
  EXPECT_EQ(a.rounded(65), 128u);
  EXPECT_EQ(a.rounded(1024), 1024u);
  EXPECT_EQ(a.rounded(1025), 1024u + 128u);
  EXPECT_EQ(a.rounded((1u << 20) + 1), (1u << 20) + (1u << 17));
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t asked = random() >> (random() % 40 + 16);
    const std::uint64_t got = a.rounded(asked);
    ASSERT_GE(got, asked);
    ASSERT_EQ(got % arena_granule, 0u);
    ASSERT_LE(got, std::max(asked + asked / 8 + arena_granule, arena_granule)) << asked;
    ASSERT_EQ(a.rounded(got), got) << "a size handed out is its own bin";
  }
}

TEST(Arena, HandsOutWhatWasGivenBackLastOfThatSize) {
  arena a(arena_granule);
  a.grow(1024);
  const auto first = a.take(100);
  const auto second = a.take(100);
  a.give_back(*first);
  a.give_back(*second);
  EXPECT_EQ(a.take(128)->offset, second->offset);
}

TEST(Arena, HasNothingBeforeItGrows) {
  arena a(arena_granule);
  EXPECT_FALSE(a.take(1));
  EXPECT_EQ(a.largest_free_bytes(), 0u);
  a.grow(arena_granule);
  EXPECT_TRUE(a.take(1));
  EXPECT_FALSE(a.take(1));
}

// A quadratic way takes a minute for these.
TEST(Arena, CoalescesManyPiecesOfASizeInNoTime) {
  arena a(arena_granule);
  constexpr std::uint64_t many = 300'000;
  a.grow(many * arena_granule);
  std::vector<arena::piece> pieces;
  for (std::uint64_t i = 0; i < many; ++i)
    pieces.push_back(*a.take(arena_granule));
  // Every other one, so that none has a neighbour; then the rest.
  for (std::uint64_t first : {0U, 1U}) {
    for (std::uint64_t i = first; i < many; i += 2)
      a.give_back(pieces[i]);
    a.coalesce();
    EXPECT_EQ(a.largest_free_bytes(), first == 0 ? arena_granule : many * arena_granule);
  }
}

TEST(Arena, JoinsNeighboursOnceCoalesced) {
  arena a(arena_granule);
  a.grow(3 * arena_granule);
  const auto one = a.take(arena_granule);
  const auto two = a.take(arena_granule);
  const auto three = a.take(arena_granule);
  a.give_back(*one);
  a.give_back(*three);
  a.coalesce();
  EXPECT_EQ(a.largest_free_bytes(), arena_granule);
  a.give_back(*two);
  a.coalesce();
  EXPECT_EQ(a.largest_free_bytes(), 3 * arena_granule);
  EXPECT_EQ(a.free_stretches().size(), 1u);
  EXPECT_TRUE(a.take(3 * arena_granule));
}

TEST(Arena, WhatIsFreeToTheLastGranuleCanBeTakenTightly) {
  arena a(arena_granule);
  a.grow(17 * arena_granule);  // 17 granules are rounded to 18
  EXPECT_FALSE(a.take(17 * arena_granule));
  const auto all = a.take_tight(17 * arena_granule);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->bytes, 17 * arena_granule);
  EXPECT_EQ(a.used_bytes(), 17 * arena_granule);
  a.give_back(*all);
  EXPECT_EQ(a.used_bytes(), 0u);
  a.coalesce();
  EXPECT_EQ(a.largest_free_bytes(), 17 * arena_granule);
}

/// The rules of an arena in the plainest form: the pieces in use, by offset.
class model {
 public:
  void took(const arena& a, std::uint64_t asked, arena::piece p) {
    ASSERT_GE(p.bytes, asked);
    ASSERT_EQ(p.offset % arena_granule, 0u);
    ASSERT_EQ(p.bytes % arena_granule, 0u);
    ASSERT_LE(p.offset + p.bytes, a.extent_bytes());
    const auto after = out_.lower_bound(p.offset);
    if (after != out_.end()) {
      ASSERT_LE(p.offset + p.bytes, after->first) << "overlaps the next";
    }
    if (after != out_.begin()) {
      const auto before = std::prev(after);
      ASSERT_LE(before->first + before->second, p.offset) << "overlaps the one before";
    }
    out_[p.offset] = p.bytes;
    used_ += p.bytes;
  }
  arena::piece give_back_any(std::mt19937_64& random) {
    const auto chosen =
        std::next(out_.begin(), static_cast<std::ptrdiff_t>(random() % out_.size()));
    const arena::piece p{chosen->first, chosen->second};
    out_.erase(chosen);
    used_ -= p.bytes;
    return p;
  }
  [[nodiscard]] std::uint64_t largest_gap(std::uint64_t extent) const {
    std::uint64_t end = 0;
    std::uint64_t largest = 0;
    for (const auto& [offset, bytes] : out_) {
      largest = std::max(largest, offset - end);
      end = offset + bytes;
    }
    return std::max(largest, extent - end);
  }
  [[nodiscard]] bool empty() const { return out_.empty(); }
  [[nodiscard]] std::uint64_t used() const { return used_; }

 private:
  std::map<std::uint64_t, std::uint64_t> out_;
  std::uint64_t used_ = 0;
};

TEST(Arena, NeverOverlapsAndLosesNothingOverRandomUse) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::mt19937_64 random(seed);
    arena a(arena_granule);
    model expected;
    a.grow(std::uint64_t{256} * 1024);
    for (int step = 0; step < 5'000; ++step) {
      const std::uint64_t dice = random() % 100;
      if (dice < 52) {
        const std::uint64_t asked = random() % (dice < 5 ? 60'000 : 3'000);
        const auto piece = dice % 7 == 0 ? a.take_tight(asked) : a.take(asked);
        if (piece) {
          expected.took(a, asked, *piece);
        }
      } else if (dice < 97 && !expected.empty()) {
        a.give_back(expected.give_back_any(random));
      } else if (dice < 99) {
        a.coalesce();
        ASSERT_EQ(a.largest_free_bytes(), expected.largest_gap(a.extent_bytes()))
            << "seed " << seed;
      } else if (a.extent_bytes() < (1u << 20)) {
        a.grow(4096);
      }
      ASSERT_EQ(a.used_bytes(), expected.used());
      if (HasFatalFailure()) return;
    }
    while (!expected.empty())
      a.give_back(expected.give_back_any(random));
    a.coalesce();
    EXPECT_EQ(a.largest_free_bytes(), a.extent_bytes());
    EXPECT_EQ(a.free_stretches().size(), 1u);
  }
}

}  // namespace
}  // namespace troupe
