#pragma once

#include <troupe/blaslt/matmul.hpp>
#include <troupe/plugin/executor.hpp>

namespace troupe::cpu {

/// Runs a valid product with an epilogue. \errors `out_of_memory` for the lane's workspace
[[nodiscard]] result<void> run_matmul(const blaslt::matmul& r, lane_context& lane);

}  // namespace troupe::cpu
