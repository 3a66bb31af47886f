#pragma once

#include <troupe/tensor/tensor.hpp>

namespace troupe {

/// True if two views have an element in common. Exact for views with the same strides (blocks, rows
/// and columns of one matrix); otherwise true if the byte ranges overlap.
[[nodiscard]] bool share_elements(const any_tensor& a, const any_tensor& b) noexcept;

}  // namespace troupe
