#pragma once

#include "libraries/fft/requests/geometry.hpp"

#include <troupe/plugin/executor.hpp>

namespace troupe::cpu {

/// Runs `t`, which `in` and `out` are the operands of. \errors `out_of_memory`
[[nodiscard]] result<void> transform_all(const fft::transform& t, const any_tensor& in,
                                         const any_tensor& out, lane_context& lane);

}  // namespace troupe::cpu
