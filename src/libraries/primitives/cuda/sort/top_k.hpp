#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/primitives/sorting.hpp>

namespace troupe::cuda {

/// Enqueues the search of each row by blocks. Without room there: the sort of all rows, or for
/// long ones of each the search for the k-th key, the selection of the elements before it, and
/// their sort.
[[nodiscard]] result<void> enqueue_top_k(const primitives::top_k& r, lane& where);

}  // namespace troupe::cuda
