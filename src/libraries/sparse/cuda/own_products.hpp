#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/late_failure.hpp"

#include <troupe/blas/modes.hpp>
#include <troupe/sparse/products.hpp>

/// Products by Troupe's own kernels, which support every format, type and operation.
namespace troupe::cuda {

[[nodiscard]] constexpr bool transposes(blas::storage_op op) noexcept {
  return op == blas::storage_op::transpose || op == blas::storage_op::conjugate_transpose;
}
[[nodiscard]] constexpr bool conjugates(blas::storage_op op) noexcept {
  return op == blas::storage_op::conjugate || op == blas::storage_op::conjugate_transpose;
}

/// out = alpha · op(a) · in + beta · out, of vectors or matrices.
struct sparse_product {
  const sparse_matrix& a;
  const any_tensor& in;
  const any_tensor& out;
  const scalar& alpha;
  const scalar& beta;
  blas::storage_op op;
};

/// Enqueues out = beta · out; zeros where beta is 0.
[[nodiscard]] result<void> enqueue_scaling(const any_tensor& out, const scalar& beta, lane& where);
/// Enqueues to = from, vectors of one type.
[[nodiscard]] result<void> enqueue_vector_copy(const any_tensor& from, const any_tensor& to,
                                               lane& where);
/// Enqueues the product, after the checks of the pattern. Nothing may be enqueued behind it.
[[nodiscard]] result<void> enqueue_own_product(const sparse_product& p, lane& where,
                                               late_failure failure);

/// Enqueues a product whose rows are stored contiguously: csr, or transposed csc. Work is
/// distributed by elements, and additions have a fixed order. The product checks the pattern.
/// Nothing may be enqueued behind it.
[[nodiscard]] result<void> enqueue_balanced_product(const sparse_product& p, lane& where,
                                                    late_failure failure);

}  // namespace troupe::cuda
