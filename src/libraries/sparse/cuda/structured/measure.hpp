#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/sparse/cuda/structured/lt_plan.hpp"

#include <span>

namespace troupe::cuda {

/// Runs plans for the same product on the lane and returns the index of the fastest. They write to
/// workspace and leave the request's operands unchanged. \errors `out_of_memory`
[[nodiscard]] result<std::size_t> fastest_of(std::span<const std::unique_ptr<lt_plan>> plans,
                                             const sparse::structured_matmul& r,
                                             lt_plan::operands of, lane& where);

}  // namespace troupe::cuda
