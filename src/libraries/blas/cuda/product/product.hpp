#pragma once

#include "libraries/blas/cuda/call.hpp"
#include "libraries/blas/cuda/planner/lt_plan.hpp"

#include <troupe/tensor/scalar.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::cuda {

/// Matrix products, c = alpha · op_a(a) · op_b(b) + beta · c, in the last two dimensions of their
/// views, rank 2 or 3: what gemm and every batched gemm run.
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
/// else.
[[nodiscard]] result<void> multiply(const product& p, lane& where);

// What follows is for products of which there are many. -------------------------------------------

/// Workspace that products run one after the other share: the lane's stream orders them. Its first
/// `kept_bytes` are left alone, for whoever makes it.
class staging {
 public:
  explicit staging(lane& where, std::size_t kept_bytes = 0) noexcept
      : where_(where), kept_bytes_(kept_bytes) {}

  /// Asks for as much as any of the products will need, so that it is asked for once.
  [[nodiscard]] result<void> reserve(std::size_t bytes);
  /// What is left alone; there once `reserve` has succeeded.
  [[nodiscard]] std::byte* kept() const noexcept { return held_.data(); }
  /// Valid until the next call.
  [[nodiscard]] result<std::byte*> take(std::size_t bytes);

  [[nodiscard]] lane& where() const noexcept { return where_; }

 private:
  lane& where_;
  std::size_t kept_bytes_;
  std::span<std::byte> held_;
};

/// The workspace that `p` may need, at most.
[[nodiscard]] std::size_t most_staging(const product& p) noexcept;
[[nodiscard]] result<void> multiply(const product& p, staging& room);

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
/// Bytes of the conjugated copy of an operand of rows × columns, if it needs one; an operand that
/// all problems share is copied once.
[[nodiscard]] std::int64_t copy_bytes(const factor_matrix& f, std::int64_t rows,
                                      std::int64_t columns, std::int64_t batch,
                                      dtype type) noexcept;
/// Puts the copy, packed, in the operand's place.
[[nodiscard]] result<void> conjugate_copy(lane& where, dtype type, factor_matrix& f,
                                          std::int64_t rows, std::int64_t columns,
                                          std::int64_t batch, std::byte* to);

/// A product as cuBLAS takes it. Of a row-major c this is the transposed product, bᵀ · aᵀ.
struct column_major_product {
  factor_matrix a;
  factor_matrix b;
  std::byte* c;
  std::int64_t m, n, k;
  std::int64_t ldc;
  std::int64_t stride_c;
  std::int64_t batch;
  bool swapped;  ///< a is what the request calls b
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
                                              staging& room);

}  // namespace troupe::cuda
