#pragma once

#include "device/graph/roles.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

/// Random graphs on a few bytes.
namespace troupe::graph {

inline constexpr std::size_t buffers = 2;
inline constexpr std::size_t buffer_bytes = 12;
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

}  // namespace troupe::graph
