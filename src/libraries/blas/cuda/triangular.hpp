#pragma once

#include "libraries/blas/cuda/kernels/combine.hpp"
#include "libraries/blas/cuda/matrix_routines.hpp"

#include <cstdint>

namespace troupe::cuda {

/// A triangular matrix beside a general one, in the last two dimensions of their views, as cuBLAS
/// takes them: what trmm, trsm and its batch run. A row-major b is taken as the transposed problem.
struct triangular_problem {
  cublasSideMode_t side;
  cublasFillMode_t uplo;
  cublasOperation_t transposition;
  cublasDiagType_t diag;
  std::int64_t m, n;
  const std::byte* a;
  std::int64_t lda;
  std::int64_t stride_a;
  std::byte* b;
  std::int64_t ldb;
  std::int64_t stride_b;
  std::int64_t batch;
  /// cuBLAS has no conjugation without transposition: a conjugated copy must take a's place.
  bool to_conjugate;

  [[nodiscard]] std::int64_t order() const noexcept { return side == CUBLAS_SIDE_LEFT ? m : n; }
  /// How many matrices are in the copy; one that all problems share is copied once.
  [[nodiscard]] std::int64_t copies() const noexcept {
    return !to_conjugate ? 0 : stride_a == 0 ? 1 : batch;
  }
};

template <class Request>
[[nodiscard]] triangular_problem column_major(const Request& r) noexcept {
  const int rows = r.b.rank() - 2;
  const auto b = blas::layout_of(r.b);
  const auto a = blas::layout_of(r.a, b.order);
  const bool columns = b.order == blas::order::column_major;
  const bool conjugated = r.op_a == blas::op::conjugate && is_complex(r.a.type());
  const bool turned = a.order != b.order;
  return {.side = as_cublas(columns ? r.side : other(r.side)),
          .uplo = triangle(a.order, r.uplo),
          .transposition = !turned      ? CUBLAS_OP_N
                           : conjugated ? CUBLAS_OP_C
                                        : CUBLAS_OP_T,
          .diag = as_cublas(r.diag),
          .m = r.b.extent(columns ? rows : rows + 1),
          .n = r.b.extent(columns ? rows + 1 : rows),
          .a = r.a.address(),
          .lda = a.ld,
          .stride_a = rows == 0 ? 0 : r.a.stride(0),
          .b = r.b.address(),
          .ldb = b.ld,
          .stride_b = rows == 0 ? 0 : r.b.stride(0),
          .batch = rows == 0 ? 1 : r.b.extent(0),
          .to_conjugate = conjugated && !turned};
}

/// Bytes of the conjugated copy, and putting it in the place of a.
[[nodiscard]] inline std::int64_t copy_bytes(const triangular_problem& p, dtype type) noexcept {
  return p.order() * p.order() * p.copies() * size_of(type);
}
[[nodiscard]] inline result<void> conjugate_copy(lane& where, dtype type, triangular_problem& p,
                                                 std::byte* to) {
  if (!p.to_conjugate) return {};
  const std::int64_t order = p.order();
  const std::int64_t copies = p.copies();
  const batch_place from{
      .first = const_cast<std::byte*>(p.a), .row = 1, .column = p.lda, .batch = p.stride_a};
  p.a = to;
  p.lda = order;
  p.stride_a = copies == 1 ? 0 : order * order;
  p.to_conjugate = false;
  return combine(where, type, {order, order, copies},
                 {.first = to, .row = 1, .column = order, .batch = p.stride_a},
                 {.place = from, .factor = 1, .conjugated = true});
}

}  // namespace troupe::cuda
