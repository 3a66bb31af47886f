#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/elementwise/map.hpp>

/// What is done with operands before a plan, and with results after it.
namespace troupe::cuda {

/// Runs a function of elements as a part of another request.
[[nodiscard]] result<void> enqueue_map(const elementwise::map& r, lane& where);

/// to = from, with conversion, any strides.
[[nodiscard]] result<void> enqueue_copied(const any_tensor& from, const any_tensor& to,
                                          lane& where);

/// to = from, with 0 in the place of infinities.
[[nodiscard]] result<void> enqueue_finite(const any_tensor& from, const any_tensor& to,
                                          lane& where);

}  // namespace troupe::cuda
