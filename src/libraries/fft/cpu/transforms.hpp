#pragma once

#include "libraries/fft/shared/functions.hpp"

#include <troupe/plugin/executor.hpp>

namespace troupe::cpu {

/// Runs `t`, which is that of the request `r`. \errors `out_of_memory`
[[nodiscard]] result<void> transform_all(const fft::transform& t, const fft::request_fields& r,
                                         lane_context& lane);

}  // namespace troupe::cpu
