#pragma once

#include "backend/cuda/lane.hpp"
#include "ops/fft/geometry.hpp"

#include <troupe/worker/executor.hpp>

namespace troupe::cuda {

/// Lists the executors of a family.
void add_fft_complex_transforms(operation_table& table);
void add_fft_real_transforms(operation_table& table);

/// Enqueues `t`, which `in` and `out` are the operands of.
[[nodiscard]] result<void> transform_all(const fft::transform& t, const any_tensor& in,
                                         const any_tensor& out, lane& where);

/// Enqueues a little of what a first request would otherwise wait for on this lane. Uses the lane's
/// workspace only.
[[nodiscard]] result<void> warm_up_fft(lane& where);

}  // namespace troupe::cuda
