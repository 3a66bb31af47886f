#pragma once

#include "backend/cuda/context/call_frame.hpp"
#include "libraries/blas/cuda/call.hpp"
#include "libraries/blas/cuda/kernels/combine.hpp"
#include "libraries/blas/cuda/planner/lt_plan.hpp"

#include <troupe/tensor/scalar.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// Matrix products, c = alpha · op_a(a) · op_b(b) + beta · c, in the last two dimensions of their
/// views, rank 2 or 3. gemm and every batched gemm run them.
struct product {
  const any_tensor& a;
  const any_tensor& b;
  const any_tensor& c;
  const scalar& alpha;
  const scalar& beta;
  blas::op op_a;
  blas::op op_b;
  blas::math_mode math;
};

/// Enqueues `p` for any types that validation lets through. A product in which nothing is
/// conjugated and whose i8 matrices are aligned is one call of cuBLAS, or of cuBLASLt, and nothing
/// else, and takes no workspace.
[[nodiscard]] result<void> multiply(const product& p, lane& where);
/// The workspace that `p` may take, at most: a call with several products shares it among them.
[[nodiscard]] std::size_t workspace_bytes(const product& p) noexcept;

/// The types of a product.
struct product_types {
  dtype in;
  dtype out;
  cublasComputeType_t compute;

  [[nodiscard]] cudaDataType cuda_in() const noexcept { return as_cuda_type(in); }
  [[nodiscard]] cudaDataType cuda_out() const noexcept { return as_cuda_type(out); }
};
[[nodiscard]] product_types types_of(const product& p) noexcept;

/// An operand of a product as cuBLAS takes it: column-major, perhaps transposed.
struct factor_matrix {
  const std::byte* first;
  std::int64_t ld;
  std::int64_t stride;  ///< to the next of a batch, in elements
  cublasOperation_t transposition;
  /// cuBLAS has no conjugation without transposition: a conjugated copy must take its place.
  bool to_conjugate;
};

/// A matrix beside a result that lies in that order.
[[nodiscard]] factor_matrix factor_of(const any_tensor& t, blas::order order, blas::op op) noexcept;
/// An operand in a call. If it is to be conjugated, a conjugated copy, packed in the workspace,
/// takes its place when the frame begins. An operand that all problems share is copied once.
class conjugated_factor final : call_frame::step {
 public:
  conjugated_factor(call_frame& c, factor_matrix& f, const batch_extents& extents,
                    dtype type) noexcept;
  /// Bytes of the copy, if it is needed.
  [[nodiscard]] static std::int64_t bytes(const factor_matrix& f, const batch_extents& extents,
                                          dtype type) noexcept;

 private:
  result<void> before(lane& where) override;

  factor_matrix& factor_;
  batch_extents extents_;
  dtype type_;
  frame_array<std::byte> copy_;
};

/// A product as cuBLAS takes it. If c is row-major, it is the transposed product, bᵀ · aᵀ.
struct column_major_product {
  factor_matrix a;
  factor_matrix b;
  std::byte* c;
  std::int64_t m, n, k;
  std::int64_t ldc;
  std::int64_t stride_c;
  std::int64_t batch;
  bool swapped;  ///< a is what the request calls b

  [[nodiscard]] batch_extents extents_a() const noexcept { return {m, k, batch}; }
  [[nodiscard]] batch_extents extents_b() const noexcept { return {k, n, batch}; }
};
[[nodiscard]] column_major_product column_major(const product& p) noexcept;

/// Enqueues one call of cuBLAS.
[[nodiscard]] result<void> call_gemm(cublasHandle_t handle, const column_major_product& p,
                                     const product_types& types, const void* alpha,
                                     const void* beta);

/// True when cuBLAS takes these matrices of i8: addresses, leading dimensions and strides are
/// multiples of four. Source: cuBLAS documentation, cublasGemmEx, CUBLAS_COMPUTE_32I.
[[nodiscard]] bool aligned_for_i8(const column_major_product& p) noexcept;

/// Products of i8 in copies that are padded to what every kernel for them takes, and the workspace
/// for it.
[[nodiscard]] std::size_t padded_i8_bytes(const column_major_product& p) noexcept;
[[nodiscard]] result<void> multiply_padded_i8(const product& p, const column_major_product& as,
                                              lane& where);

}  // namespace troupe::cuda
