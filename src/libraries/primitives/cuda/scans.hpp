#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/primitives/scans.hpp>

namespace troupe::cuda {

/// Enqueues a scan of several rows along an axis, none of which is empty.
[[nodiscard]] result<void> enqueue_row_scan(const primitives::scan& r, lane& where);

/// Enqueues a scan of a vector whose order depends on the length only; it reads x twice.
[[nodiscard]] result<void> enqueue_fixed_scan(const primitives::scan& r, lane& where);

/// True if CUB can do the scan in one pass: a sum over packed vectors of one type of 4 or 8 bytes.
[[nodiscard]] bool is_plain_sum(const primitives::scan& r) noexcept;
/// Enqueues such a sum. Sums of floats may differ between runs.
[[nodiscard]] result<void> enqueue_plain_sum(const primitives::scan& r, lane& where);

}  // namespace troupe::cuda
