#pragma once

#include "libraries/dnn/cuda/plan/graph_description.hpp"

#include <cstdint>

namespace troupe::cuda::graphs {

/// A hash of all fields of the graph. A plan is valid only for the graph that it was made of.
[[nodiscard]] std::uint64_t fingerprint(const description& graph) noexcept;

}  // namespace troupe::cuda::graphs
