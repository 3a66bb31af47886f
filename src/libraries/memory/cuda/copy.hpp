#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/tensor/tensor.hpp>

namespace troupe::cuda {

/// Enqueues to = from, of the same type and extents.
[[nodiscard]] result<void> copy_elements(const any_tensor& from, const any_tensor& to, lane& where);

}  // namespace troupe::cuda
