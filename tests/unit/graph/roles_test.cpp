// The roles of random graphs against a machine that runs them byte by byte.
#include "graph_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

namespace troupe::graph {
namespace {

TEST(GraphRoles, HoldForRandomGraphsOnAMachineOfBytes) {
  std::size_t can_repeat = 0;
  for (std::uint64_t seed = 0; seed < graphs(); ++seed) {
    const sample s = drawing(seed, false).draw();
    const std::vector<access> roles = s.roles();
    std::mt19937_64 random(seed);
    ASSERT_EQ(broken(s, roles, random), "") << "seed " << seed;
    if (repeatable(roles)) ++can_repeat;
  }
  EXPECT_GT(can_repeat, graphs() / 50);
}

TEST(GraphRoles, WhatIsOverwrittenFirstMayLieInWhatIsRead) {
  // Rows of a cache are written, and then all of it is read.
  sample s = two_requests(access::write, access::read);
  s.what.bodies = {{0, 1}};
  s.what.uses = {0, 1};
  s.views = {{.buffer = 0, .begin = 4, .end = 6}, {.buffer = 0, .begin = 0, .end = 8}};
  const std::vector roles = s.roles();
  EXPECT_EQ(roles, (std::vector{access::write, access::read}));
  // Other rows of the cache.
  s.views[0] = {.buffer = 0, .begin = 0, .end = 2};
  EXPECT_EQ(s.roles(), roles);
  // Read before.
  s.what.bodies = {{1, 0}};
  const std::vector late = s.roles();
  EXPECT_EQ(late, (std::vector{access::update, access::read}));
  EXPECT_EQ(first_too_weak(s.what, s.uses, roles, late), 0U);
  EXPECT_EQ(first_too_weak(s.what, s.uses, late, roles), std::nullopt);
}

/// Without conditions, and with views that are the same or apart, a role is exactly what the first
/// use and the writes say.
TEST(GraphRoles, AreExactWhereViewsDoNotOverlapInPart) {
  for (std::uint64_t seed = 0; seed < graphs() / 10; ++seed) {
    const sample s = drawing(seed, true).draw();
    const std::vector<access> roles = s.roles();
    for (std::size_t r = 0; r < roles.size(); ++r) {
      std::optional<access> expected;
      for (const node& n : s.what.nodes) {
        std::optional<access> here;
        for (std::uint64_t i = n.first_use; i < n.first_use + n.uses; ++i) {
          if (s.what.uses[i] != r) continue;
          here = here && *here != s.uses[i] ? access::update : s.uses[i];
        }
        if (!here) continue;
        if (!expected) expected = here;
        if (*expected == access::read && *here != access::read) expected = access::update;
      }
      ASSERT_EQ(roles[r], expected.value_or(roles[r])) << "seed " << seed << ", root " << r;
    }
  }
}

access role_of(const sample& s) { return s.roles().front(); }

TEST(GraphRoles, ScratchMemoryIsWritten) {
  sample s = two_requests(access::write, access::read);
  s.what.bodies = {{0, 1}};
  EXPECT_EQ(role_of(s), access::write);
  s.uses = {access::write, access::update};
  EXPECT_EQ(role_of(s), access::write);
  s.uses = {access::read, access::write};
  EXPECT_EQ(role_of(s), access::update);
}

TEST(GraphRoles, AWriteThatMayNotHappenIsAnUpdateUnlessBothBranchesWrite) {
  sample s = two_requests(access::write, access::write);
  s.what.nodes.push_back(
      {.kind = node_kind::when, .first_use = 2, .uses = 1, .first_body = 1, .bodies = 1});
  s.what.uses.push_back(1);
  s.uses.push_back(access::read);
  s.views.push_back({.buffer = 1, .begin = 0, .end = 1});
  s.what.bodies = {{2}, {0, 1}};
  EXPECT_EQ(role_of(s), access::update);
  s.what.nodes[2].bodies = 2;
  s.what.bodies = {{2}, {0}, {1}};
  EXPECT_EQ(role_of(s), access::write);
  s.what.nodes[2].kind = node_kind::choose;
  EXPECT_EQ(role_of(s), access::update);
}

}  // namespace
}  // namespace troupe::graph
