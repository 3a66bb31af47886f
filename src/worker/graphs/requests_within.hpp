#pragma once

#include "worker/graphs/graph_recordings.hpp"

namespace troupe::worker {

/// Calls `f(number, in_a_body)` for the requests among these nodes, and for those of the bodies of
/// conditions among them.
template <class F>
void graph_recordings::for_each_request(std::span<const std::uint64_t> nodes, F f,
                                        bool in_a_body) const {
  for (const std::uint64_t n : nodes) {
    const graph::node& one = definition_.nodes[n];
    if (one.kind == graph::node_kind::request) {
      f(n, in_a_body);
      continue;
    }
    for (std::uint64_t b = one.first_body; b < one.first_body + one.bodies; ++b)
      for_each_request(definition_.bodies[b], f, true);
  }
}

}  // namespace troupe::worker
