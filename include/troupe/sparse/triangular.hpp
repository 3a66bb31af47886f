#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>
#include <troupe/sparse/matrix.hpp>

/// Systems with sparse triangular matrices.
///
/// a is square, csr or csc. `uplo` says which triangle of a is read: elements in the other one are
/// skipped, as the diagonal is where `diag` is `unit`. Duplicate elements count each; indices need
/// not ascend. Values are f32, f64, c64 or c128; all of a request have one type.
///
/// \errors `numerical`, found when the request runs, for a diagonal element that is zero or not
/// there: "singular: the diagonal element of row 4 is zero", the first one; `invalid_argument` for
/// an offset or an index that points outside. x is then undefined.
namespace troupe::sparse {

/// Solves op_a(a) · x = alpha · b.
///
/// x and b are vectors with any stride of at least 1; x may be b. Computes what cusparseSpSV does.
struct TROUPE_EXPORT spsv {
  static constexpr std::string_view name = "sparse.spsv";
  using reply = void;

  sparse_matrix a{};
  any_tensor b{};
  any_tensor x{};
  scalar alpha = 1;
  blas::uplo uplo = blas::uplo::lower;
  blas::diag diag = blas::diag::non_unit;
  blas::storage_op op_a = blas::storage_op::none;

  static void describe(description<spsv>& d);
};

/// Solves op_a(a) · x = alpha · b with dense b and x [n, nrhs] of any strides; x may be b.
///
/// Computes what cusparseSpSM does.
struct TROUPE_EXPORT spsm {
  static constexpr std::string_view name = "sparse.spsm";
  using reply = void;

  sparse_matrix a{};
  any_tensor b{};
  any_tensor x{};
  scalar alpha = 1;
  blas::uplo uplo = blas::uplo::lower;
  blas::diag diag = blas::diag::non_unit;
  blas::storage_op op_a = blas::storage_op::none;

  static void describe(description<spsm>& d);
};

}  // namespace troupe::sparse
