#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/late_failure.hpp"

#include <troupe/sparse/products.hpp>

namespace troupe::cuda {

/// True if cuSPARSE may compute it: a product sampled in blocks.
[[nodiscard]] bool offers_sampled_blocks(const sparse::sddmm& r) noexcept;
/// Enqueues it by cuSPARSE. \errors `unsupported` if cuSPARSE does not support it after all; then c
/// is unchanged
[[nodiscard]] result<void> enqueue_sampled_blocks(const sparse::sddmm& r, lane& where,
                                                  late_failure failure);

}  // namespace troupe::cuda
