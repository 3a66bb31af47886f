#pragma once

#include "libraries/dnn/cuda/plan/graph_description.hpp"

#include <cstdint>

namespace troupe::cuda::graphs {

/// A number that changes with any field of the graph: a plan is good for the graph that it was made
/// of, and for no other.
[[nodiscard]] std::uint64_t fingerprint(const description& graph) noexcept;

}  // namespace troupe::cuda::graphs
