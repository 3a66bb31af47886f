#pragma once

#include <troupe/tensor/tensor.hpp>

namespace troupe::cpu {

/// to = from, of the same type and extents.
void copy_elements(const any_tensor& from, const any_tensor& to);

}  // namespace troupe::cpu
