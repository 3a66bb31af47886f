#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/late_failure.hpp"

#include <troupe/sparse/products.hpp>

namespace troupe::cuda {

/// Whether cuSPARSE may compute it: elements of a product that lie in blocks.
[[nodiscard]] bool offers_sampled_blocks(const sparse::sddmm& r) noexcept;
/// Enqueues it by cuSPARSE. \errors `unsupported` where that does not take it after all; nothing of
/// c has been written then
[[nodiscard]] result<void> enqueue_sampled_blocks(const sparse::sddmm& r, lane& where,
                                                  late_failure failure);

}  // namespace troupe::cuda
