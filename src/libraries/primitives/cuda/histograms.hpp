#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/late_failure.hpp"

#include <troupe/primitives/histograms.hpp>

namespace troupe::cuda {

/// Enqueue counting elements in bins. The version with edges also checks that they ascend.
[[nodiscard]] result<void> enqueue_even(const primitives::histogram_even& r, lane& where);
[[nodiscard]] result<void> enqueue_range(const primitives::histogram_range& r, lane& where,
                                         late_failure failure);

}  // namespace troupe::cuda
