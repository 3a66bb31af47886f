#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/primitives/scans.hpp>

namespace troupe::cuda {

/// Enqueues a scan whose order depends on the length alone; it reads x twice.
[[nodiscard]] result<void> enqueue_fixed_scan(const primitives::scan& r, lane& where);

/// True for what CUB adds up in one pass: packed vectors of one type of 4 or 8 bytes.
[[nodiscard]] bool is_plain_sum(const primitives::scan& r) noexcept;
/// Enqueues such a sum. That of floats may differ from run to run.
[[nodiscard]] result<void> enqueue_plain_sum(const primitives::scan& r, lane& where);

}  // namespace troupe::cuda
