#pragma once

#include "libraries/blas/cuda/matrix_routines.hpp"
#include "libraries/blas/cuda/product/product.hpp"

#include <cstdint>

namespace troupe::cuda {

/// A triangular matrix beside a general one, in the last two dimensions of their views, as cuBLAS
/// takes them in trmm, trsm and its batch. A row-major b is taken as the transposed problem.
struct triangular_problem {
  cublasSideMode_t side;
  cublasFillMode_t uplo;
  cublasDiagType_t diag;
  std::int64_t m, n;
  factor_matrix a;
  std::byte* b;
  std::int64_t ldb;
  std::int64_t stride_b;
  std::int64_t batch;

  [[nodiscard]] batch_extents extents_a() const noexcept {
    const std::int64_t order = side == CUBLAS_SIDE_LEFT ? m : n;
    return {order, order, batch};
  }
};

template <class Request>
[[nodiscard]] triangular_problem column_major(const Request& r) noexcept {
  const int rows = r.b.rank() - 2;
  const auto b = blas::layout_of(r.b);
  const bool columns = b.order == blas::order::column_major;
  return {.side = as_cublas(columns ? r.side : other(r.side)),
          .uplo = triangle(blas::layout_of(r.a, b.order).order, r.uplo),
          .diag = as_cublas(r.diag),
          .m = r.b.extent(columns ? rows : rows + 1),
          .n = r.b.extent(columns ? rows + 1 : rows),
          .a = factor_of(r.a, b.order, r.op_a),
          .b = r.b.address(),
          .ldb = b.ld,
          .stride_b = rows == 0 ? 0 : r.b.stride(0),
          .batch = rows == 0 ? 1 : r.b.extent(0)};
}

}  // namespace troupe::cuda
