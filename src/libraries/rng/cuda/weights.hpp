#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/late_failure.hpp"
#include "libraries/rng/shared/weights.hpp"

#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

namespace troupe::cuda {

/// Enqueues the sums of a vector of f32 or f64.
[[nodiscard]] result<void> enqueue_weight_sums(const any_tensor& weights,
                                               const rng::weight_sums& sums, lane& where);
/// Enqueues a check that fails the request if the sums are not usable.
[[nodiscard]] result<void> enqueue_weight_check(const rng::weight_sums& sums, late_failure failure,
                                                lane& where);

}  // namespace troupe::cuda
