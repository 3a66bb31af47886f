#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/late_failure.hpp"
#include "libraries/elementwise/shared/indexing.hpp"

namespace troupe::cuda {

/// Enqueues a copy of rows with elements of that many bytes. If an index is out of range, the
/// kernels write nothing and the last one reports it.
[[nodiscard]] result<void> enqueue_gather(const elementwise::row_operands& r,
                                          std::int64_t element_bytes, lane& where,
                                          late_failure failure);
[[nodiscard]] result<void> enqueue_row_change(const elementwise::row_operands& r, dtype type,
                                              elementwise::row_change how, lane& where,
                                              late_failure failure);
[[nodiscard]] result<void> enqueue_cumulation(const elementwise::cumulate& r, lane& where);

}  // namespace troupe::cuda
