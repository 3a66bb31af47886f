// The roles of random graphs against a machine that runs them byte by byte.
#include "device/graph/roles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>

namespace troupe::graph {
namespace {

constexpr std::size_t buffers = 2;
constexpr std::size_t buffer_bytes = 12;
using memory = std::array<std::uint8_t, buffers * buffer_bytes>;

/// A graph, and for each root the bytes that it has.
struct sample {
  definition what;
  std::vector<access> uses;
  std::vector<view_bytes> views;
  std::vector<std::vector<std::size_t>> bytes;
  std::vector<narrowed_use> narrowed;

  [[nodiscard]] std::vector<access> roles() const { return roles_of(what, uses, views, narrowed); }
};

class drawing {
 public:
  /// `whole`: views are the same or apart, so that no role need be cautious.
  drawing(std::uint64_t seed, bool whole) : random_(seed), whole_(whole) {}

  sample draw() {
    const std::size_t roots = 1 + below(5);
    while (made_.views.size() < roots)
      add_view();
    made_.what.bodies.emplace_back();
    fill(0, 1 + below(6), whole_ ? most_depth : 0);
    return std::move(made_);
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }

  void add_view() {
    view_bytes v{.buffer = below(buffers)};
    std::uint64_t step = 1;
    if (whole_) {
      v.begin = 4 * below(buffer_bytes / 4);
      v.end = v.begin + 4;
    } else {
      v.begin = below(buffer_bytes);
      v.end = v.begin + 1 + below(buffer_bytes - v.begin);
      step = 1 + below(2);
      if (v.end - v.begin > 1 && step == 2) {
        v.dense = false;
      } else {
        step = 1;
      }
    }
    const bool is_new = std::ranges::none_of(made_.views, [&](const view_bytes& other) {
      return other.buffer == v.buffer && other.begin == v.begin && other.end == v.end;
    });
    if (!is_new) return add_view();
    made_.views.push_back(v);
    auto& bytes = made_.bytes.emplace_back();
    for (std::uint64_t b = v.begin; b < v.end; b += step)
      bytes.push_back(v.buffer * buffer_bytes + b);
  }

  /// The request writes one or two parts alone, which are other views.
  void narrow(std::size_t use) {
    const view_bytes whole = made_.views[made_.what.uses[use]];
    narrowed_use one{.use = use, .parts = {}};
    for (std::size_t k = 1 + below(2); k > 0; --k) {
      const std::uint64_t length = 1 + below(whole.end - whole.begin);
      const std::uint64_t begin = whole.begin + below(whole.end - whole.begin - length + 1);
      one.parts.push_back(made_.views.size());
      made_.views.push_back({.buffer = whole.buffer, .begin = begin, .end = begin + length});
      auto& bytes = made_.bytes.emplace_back();
      for (std::uint64_t b = begin; b < begin + length; ++b)
        bytes.push_back(whole.buffer * buffer_bytes + b);
    }
    made_.narrowed.push_back(std::move(one));
  }

  void fill(std::size_t body, std::size_t count, int depth) {
    for (std::size_t i = 0; i < count && made_.what.nodes.size() < 12; ++i) {
      const std::size_t number = made_.what.nodes.size();
      node n{.first_use = made_.what.uses.size()};
      const bool is_condition = depth < 3 && below(4) == 0;
      const std::size_t uses = is_condition ? 1 : 1 + below(3);
      for (std::size_t u = 0; u < uses; ++u) {
        made_.what.uses.push_back(below(made_.views.size()));
        made_.uses.push_back(is_condition ? access::read : static_cast<access>(below(3)));
        if (!whole_ && !is_condition && made_.uses.back() != access::read && below(4) == 0) {
          narrow(made_.uses.size() - 1);
        }
      }
      n.uses = uses;
      if (is_condition) n.kind = static_cast<node_kind>(1 + below(3));
      made_.what.nodes.push_back(n);
      made_.what.bodies[body].push_back(number);
      if (!is_condition) continue;
      const std::size_t bodies = n.kind == node_kind::repeat ? 1 : 1 + below(2);
      made_.what.nodes[number].first_body = made_.what.bodies.size();
      made_.what.nodes[number].bodies = bodies;
      const std::size_t first = made_.what.bodies.size();
      made_.what.bodies.resize(first + bodies);
      for (std::size_t b = 0; b < bodies; ++b)
        fill(first + b, below(3), depth + 1);
    }
  }

  std::mt19937_64 random_;
  const bool whole_;
  sample made_;
};

/// Runs a graph. The output of a request depends on all that it reads, and on nothing else.
class machine {
 public:
  machine(const sample& s, memory m) : s_(s), now_(m) {}

  /// Ends within a request, which leaves anything in what it writes, if `steps` run out.
  memory run(std::size_t steps = 1000, std::uint64_t noise = 0) && {
    left_ = steps;
    noise_ = noise;
    body(0);
    return now_;
  }

 private:
  bool body(std::uint64_t number) {
    for (const std::uint64_t member : s_.what.bodies[number]) {
      if (!visit(member)) return false;
    }
    return true;
  }
  bool visit(std::uint64_t number) {
    const node& n = s_.what.nodes[number];
    const auto condition = [&] {
      std::uint64_t sum = 0;
      for (const std::size_t b : s_.bytes[s_.what.uses[n.first_use]])
        sum += now_[b];
      return sum;
    };
    switch (n.kind) {
      case node_kind::request:
        return request(number, n);
      case node_kind::repeat:
        for (int round = 0; round < 3 && condition() % 2 != 0; ++round) {
          if (!body(n.first_body)) return false;
        }
        return true;
      case node_kind::when: {
        const std::uint64_t which = condition() % 2 != 0 ? 0 : 1;
        return which >= n.bodies || body(n.first_body + which);
      }
      case node_kind::choose: {
        const std::uint64_t which = condition() % 3;
        return which >= n.bodies || body(n.first_body + which);
      }
    }
    return true;
  }
  bool request(std::uint64_t number, const node& n) {
    std::uint64_t hash = number + 1;
    const auto mix = [&](std::uint64_t with) {
      hash = (hash ^ with) * 0x9e37'79b9'7f4a'7c15u;
      hash ^= hash >> 29;
    };
    const auto each = [&](auto&& use) {
      for (std::uint64_t i = n.first_use; i < n.first_use + n.uses; ++i)
        use(i, s_.uses[i], s_.bytes[s_.what.uses[i]]);
    };
    each([&](std::uint64_t i, access role, const auto& bytes) {
      if (role == access::write || parts_of(i) != nullptr) return;
      for (const std::size_t b : bytes)
        mix(now_[b]);
    });
    const bool is_last = left_-- == 0;
    if (is_last) hash = noise_;
    each([&](std::uint64_t use, access role, const auto& bytes) {
      if (role == access::read) return;
      if (const narrowed_use* const narrowed = parts_of(use)) {
        for (const std::uint64_t part : narrowed->parts) {
          for (const std::size_t b : s_.bytes[part])
            now_[b] = static_cast<std::uint8_t>(hash >> (40 + b % 8));
        }
        return;
      }
      // An update may leave some alone.
      for (std::size_t i = role == access::update ? hash % 2 : 0; i < bytes.size(); ++i) {
        mix(i);
        now_[bytes[i]] = static_cast<std::uint8_t>(hash >> 40);
      }
    });
    return !is_last;
  }

  [[nodiscard]] const narrowed_use* parts_of(std::uint64_t use) const {
    const auto found = std::ranges::find(s_.narrowed, use, &narrowed_use::use);
    return found == s_.narrowed.end() ? nullptr : &*found;
  }

  const sample& s_;
  memory now_;
  std::size_t left_ = 0;
  std::uint64_t noise_ = 0;
};

memory random_memory(std::mt19937_64& random) {
  memory m;
  for (std::uint8_t& byte : m)
    byte = static_cast<std::uint8_t>(random());
  return m;
}

/// As `safe_to_repeat` sees the operands of `graph::run`, which overwrites first.
bool repeatable(const std::vector<access>& roles) {
  return std::ranges::find(roles, access::update) == roles.end();
}

/// The claim that does not hold for these roles; empty if all do.
std::string broken(const sample& s, const std::vector<access>& roles, std::mt19937_64& random) {
  std::array<bool, buffers * buffer_bytes> written{};
  std::array<bool, buffers * buffer_bytes> read{};
  std::array<bool, buffers * buffer_bytes> updated{};
  for (std::size_t i = 0; i < roles.size(); ++i) {
    for (const std::size_t b : s.bytes[i]) {
      written[b] = written[b] || roles[i] != access::read;
      read[b] = read[b] || roles[i] != access::write;
      updated[b] = updated[b] || roles[i] == access::update;
    }
  }
  // As `read_through` has it.
  for (std::size_t i = 0; i < roles.size(); ++i) {
    if (roles[i] != access::write || !s.views[i].dense) continue;
    for (const std::size_t b : s.bytes[i])
      read[b] = updated[b];
  }
  for (int attempt = 0; attempt < 3; ++attempt) {
    const memory before = random_memory(random);
    const memory after = machine(s, before).run();
    memory other = random_memory(random);
    for (std::size_t b = 0; b < other.size(); ++b) {
      if (!written[b] && before[b] != after[b]) return "it writes what no root writes";
      if (read[b]) other[b] = before[b];
    }
    const memory after_other = machine(s, other).run();
    for (std::size_t b = 0; b < other.size(); ++b) {
      if (written[b] && after[b] != after_other[b]) return "it depends on what no root reads";
    }
    if (!repeatable(roles)) continue;
    const memory half = machine(s, before).run(random() % 8, random());
    const memory again = machine(s, half).run();
    for (std::size_t b = 0; b < other.size(); ++b) {
      if (written[b] && again[b] != after[b]) return "it cannot be run again";
    }
  }
  return {};
}

sample two_requests(access first, access second) {
  sample s;
  s.what.nodes = {{.first_use = 0, .uses = 1}, {.first_use = 1, .uses = 1}};
  s.what.uses = {0, 0};
  s.uses = {first, second};
  s.views = {{.buffer = 0, .begin = 0, .end = 8}};
  return s;
}

std::size_t graphs() {
  const char* const asked = std::getenv("TROUPE_GRAPHS");
  return asked != nullptr ? static_cast<std::size_t>(std::atoll(asked)) : 100'000;
}

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
