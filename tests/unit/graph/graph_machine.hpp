#pragma once

#include "graph_drawing.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

/// A machine that runs random graphs byte by byte.
namespace troupe::graph {

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

inline memory random_memory(std::mt19937_64& random) {
  memory m;
  for (std::uint8_t& byte : m)
    byte = static_cast<std::uint8_t>(random());
  return m;
}

/// As `safe_to_repeat` sees the operands of `graph::run`, which overwrites first.
inline bool repeatable(const std::vector<access>& roles) {
  return std::ranges::find(roles, access::update) == roles.end();
}

/// The claim that does not hold for these roles; empty if all do.
inline std::string broken(const sample& s, const std::vector<access>& roles,
                          std::mt19937_64& random) {
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

inline sample two_requests(access first, access second) {
  sample s;
  s.what.nodes = {{.first_use = 0, .uses = 1}, {.first_use = 1, .uses = 1}};
  s.what.uses = {0, 0};
  s.uses = {first, second};
  s.views = {{.buffer = 0, .begin = 0, .end = 8}};
  return s;
}

inline std::size_t graphs() {
  const char* const asked = std::getenv("TROUPE_GRAPHS");
  return asked != nullptr ? static_cast<std::size_t>(std::atoll(asked)) : 100'000;
}

}  // namespace troupe::graph
