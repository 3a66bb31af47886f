// The roles of random graphs whose views lie elsewhere than they were recorded.
#include "graph_machine.hpp"

#include <gtest/gtest.h>

namespace troupe::graph {
namespace {

/// Puts some views elsewhere, as a run does with parts of tensors.
void move_some(sample& s, std::mt19937_64& random) {
  for (std::size_t i = 0; i < s.views.size(); ++i) {
    if (random() % 2 != 0) continue;
    view_bytes& v = s.views[i];
    const std::uint64_t length = v.end - v.begin;
    const std::uint64_t buffer = random() % 4 == 0 ? random() % buffers : v.buffer;
    const std::uint64_t begin = random() % (buffer_bytes - length + 1);
    for (std::size_t& b : s.bytes[i])
      b = b - v.buffer * buffer_bytes - v.begin + buffer * buffer_bytes + begin;
    v.buffer = buffer;
    v.begin = begin;
    v.end = begin + length;
  }
}

TEST(GraphRoles, HoldAtOtherPlacesUnlessTheyAreTooWeakThere) {
  std::size_t hold = 0;
  std::size_t repeat = 0;
  for (std::uint64_t seed = 0; seed < graphs(); ++seed) {
    sample s = drawing(seed, seed % 2 != 0).draw();
    const std::vector<access> recorded = s.roles();
    std::mt19937_64 random(seed);
    move_some(s, random);
    const std::vector<access> found = s.roles();
    if (first_too_weak(s.what, s.uses, recorded, found, s.narrowed)) continue;
    ASSERT_EQ(broken(s, recorded, random), "") << "seed " << seed;
    ++hold;
    if (repeatable(recorded) && s.views.size() > 1) ++repeat;
  }
  EXPECT_GT(hold, graphs() / 4);
  EXPECT_GT(repeat, graphs() / 100);
}

/// True if each view that has moved lies in the same views as before, and overlaps no others.
bool lie_alike(const sample& before, const sample& now) {
  const auto overlap = [](const view_bytes& a, const view_bytes& b) {
    return a.buffer == b.buffer && a.begin < b.end && b.begin < a.end;
  };
  const auto contains = [](const view_bytes& a, const view_bytes& b) {
    return a.buffer == b.buffer && a.begin <= b.begin && b.end <= a.end;
  };
  for (std::size_t i = 0; i < now.views.size(); ++i) {
    const bool has_moved = before.views[i].buffer != now.views[i].buffer ||
                           before.views[i].begin != now.views[i].begin;
    for (std::size_t j = 0; has_moved && j < now.views.size(); ++j) {
      if (i == j) continue;
      const bool was_in = contains(before.views[j], before.views[i]);
      const bool is_in = contains(now.views[j], now.views[i]);
      if (was_in != is_in) return false;
      if (is_in) continue;
      if (overlap(before.views[j], before.views[i]) || overlap(now.views[j], now.views[i]))
        return false;
    }
  }
  return true;
}

// So a run that moves rows within a cache need not derive the roles.
TEST(GraphRoles, AreTheSameWhereViewsLieInTheSameViews) {
  std::size_t alike = 0;
  for (std::uint64_t seed = 0; seed < graphs(); ++seed) {
    const sample before = drawing(seed, false).draw();
    const std::vector<access> recorded = before.roles();
    std::mt19937_64 random(seed);
    for (int attempt = 0; attempt < 4; ++attempt) {
      sample now = before;
      move_some(now, random);
      if (!lie_alike(before, now)) continue;
      ++alike;
      ASSERT_EQ(now.roles(), recorded) << "seed " << seed;
    }
  }
  EXPECT_GT(alike, graphs() / 20);
}

}  // namespace
}  // namespace troupe::graph
