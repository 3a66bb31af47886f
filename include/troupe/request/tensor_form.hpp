#pragma once

#include <troupe/tensor/tensor.hpp>

namespace troupe {

/// The type and extents of a tensor that does not exist yet.
struct tensor_form {
  dtype type{};
  shape extents{};
};

}  // namespace troupe
