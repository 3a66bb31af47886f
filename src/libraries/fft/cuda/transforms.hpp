#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/fft/requests/geometry.hpp"

namespace troupe::cuda {

/// Enqueues `t`, which `in` and `out` are the operands of.
[[nodiscard]] result<void> transform_all(const fft::transform& t, const any_tensor& in,
                                         const any_tensor& out, lane& where);

}  // namespace troupe::cuda
