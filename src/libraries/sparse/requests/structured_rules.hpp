#pragma once

#include "libraries/sparse/requests/structured_stamp.hpp"

#include <troupe/blaslt/matmul.hpp>
#include <troupe/sparse/structured.hpp>

namespace troupe::sparse {

/// The same product of the weights as the plain matrix that they are.
[[nodiscard]] inline blaslt::matmul as_dense(const structured_matmul& r) {
  return {.a = r.a,
          .b = r.b,
          .c = r.c,
          .d = r.d,
          .alpha = r.alpha,
          .beta = r.beta,
          .epilogue = r.epilogue,
          .bias = r.bias};
}

}  // namespace troupe::sparse
