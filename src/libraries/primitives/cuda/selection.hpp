#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/late_failure.hpp"

#include <troupe/primitives/selection.hpp>

namespace troupe::cuda {

/// Enqueue a selection and the reply with the number of elements, or the failure if they exceed the
/// capacity.
[[nodiscard]] result<void> enqueue_select(const primitives::select& r, lane& where,
                                          std::int64_t* reply, late_failure failure);
[[nodiscard]] result<void> enqueue_partition(const primitives::partition& r, lane& where,
                                             std::int64_t* reply, late_failure failure);
[[nodiscard]] result<void> enqueue_unique(const primitives::unique& r, lane& where,
                                          std::int64_t* reply, late_failure failure);
[[nodiscard]] result<void> enqueue_run_length(const primitives::run_length& r, lane& where,
                                              std::int64_t* reply, late_failure failure);

}  // namespace troupe::cuda
