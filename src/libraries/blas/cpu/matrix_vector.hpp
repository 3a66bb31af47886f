#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/tensor/scalar.hpp>
#include <troupe/tensor/tensor.hpp>

namespace troupe::cpu {

/// y = alpha · op_a(a) · x + beta · y, for gemv and its batch.
struct matrix_vector_product {
  const any_tensor& a;
  const any_tensor& x;
  const any_tensor& y;
  const scalar& alpha;
  const scalar& beta;
  blas::op op_a;
};

void multiply(const matrix_vector_product& p);

}  // namespace troupe::cpu
