#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/elementwise/map.hpp>

/// Prepares operands for a plan, and finishes its results.
namespace troupe::cuda {

/// Runs an elementwise function as a part of another request.
[[nodiscard]] result<void> enqueue_map(const elementwise::map& r, lane& where);

/// to = from, with conversion; any strides.
[[nodiscard]] result<void> enqueue_copied(const any_tensor& from, const any_tensor& to,
                                          lane& where);

/// to = from, with infinities replaced by 0.
[[nodiscard]] result<void> enqueue_finite(const any_tensor& from, const any_tensor& to,
                                          lane& where);

}  // namespace troupe::cuda
