#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>
#include <troupe/sparse/matrix.hpp>

/// Products with sparse matrices.
///
/// All values of a request have one type: f64, f32, f16, bf16, c128 or c64. f16 and bf16 are added
/// up in f32 and rounded once. Duplicate elements count each; indices need not ascend. If alpha is
/// 0, the product's factors are not read, and if beta is 0, neither is the old result.
///
/// An offset or index that points outside is `invalid_argument`, detected when the request runs: on
/// the CPU always, and on CUDA except where cuSPARSE computes, which follows it out of its memory.
/// The library's page lists these cases; `validate` finds such a pattern. The result is then
/// undefined.
namespace troupe::sparse {

/// y = alpha · op_a(a) · x + beta · y.
///
/// x and y are vectors with any stride of at least 1, as long as op_a(a) has columns and rows.
/// Sources: own loops on the CPU, cusparseSpMV.
struct TROUPE_EXPORT spmv {
  static constexpr std::string_view name = "sparse.spmv";
  using reply = void;

  sparse_matrix a{};
  any_tensor x{};
  any_tensor y{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::storage_op op_a = blas::storage_op::none;

  static void describe(description<spmv>& d);
};

/// c = alpha · op_a(a) · b + beta · c with dense b [k, n] and c [m, n], each row- or column-major.
///
/// Sources: own loops on the CPU, cusparseSpMM.
struct TROUPE_EXPORT spmm {
  static constexpr std::string_view name = "sparse.spmm";
  using reply = void;

  sparse_matrix a{};
  any_tensor b{};
  any_tensor c{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::storage_op op_a = blas::storage_op::none;

  static void describe(description<spmm>& d);
};

/// The elements of a dense product that a sparse matrix has: c = alpha · (a · b) ∘ pattern of c +
/// beta · c. Padding keeps its values. Each of duplicate elements takes the product.
///
/// a [m, k] and b [k, n] are dense with any strides. Computes what cusparseSDDMM does.
struct TROUPE_EXPORT sddmm {
  static constexpr std::string_view name = "sparse.sddmm";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  updated_sparse_matrix c{};
  scalar alpha = 1;
  scalar beta = 0;

  static void describe(description<sddmm>& d);
};

}  // namespace troupe::sparse
