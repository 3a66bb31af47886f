#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/late_failure.hpp"

#include <troupe/primitives/sorting.hpp>

namespace troupe::cuda {

/// Enqueues the sort of each segment, and the check of the offsets.
[[nodiscard]] result<void> enqueue_segmented_sort(const primitives::segmented_sort& r, lane& where,
                                                  late_failure failure);

}  // namespace troupe::cuda
