#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/fft/shared/functions.hpp"

namespace troupe::cuda {

/// Enqueues `t`, the transform of the request `r`.
[[nodiscard]] result<void> transform_all(const fft::transform& t, const fft::request_fields& r,
                                         lane& where);

}  // namespace troupe::cuda
