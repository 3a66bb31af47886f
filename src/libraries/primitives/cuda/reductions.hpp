#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/late_failure.hpp"

#include <troupe/primitives/reductions.hpp>

namespace troupe::cuda {

/// Enqueue a reduction. The result goes to the request's tensor, or to `reply` if it has none.
[[nodiscard]] result<void> enqueue_sum(const primitives::reduce& r, lane& where, scalar* reply);
[[nodiscard]] result<void> enqueue_extreme(const primitives::reduce& r, lane& where, scalar* reply);
/// Enqueues the search of the first extreme element of `x`, which must not be empty.
[[nodiscard]] result<void> enqueue_search(const any_tensor& x, bool smallest, std::int64_t* to,
                                          lane& where);
[[nodiscard]] result<void> enqueue_segmented_reduce(const primitives::segmented_reduce& r,
                                                    lane& where, late_failure failure);

}  // namespace troupe::cuda
