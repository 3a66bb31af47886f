#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>
#include <troupe/solver/modes.hpp>

/// Eigenvalues of symmetric (real) and Hermitian (complex) matrices. Rules and errors as in
/// `lu.hpp`.
///
/// Only triangle `uplo` is read, and the imaginary part of the diagonal is taken to be zero.
/// Eigenvalues w, of the real type of a's precision, are in ascending order; the columns of v are
/// the eigenvectors in the same order.
namespace troupe::solver {

/// Finds eigenvalues and, if `vectors` is set, eigenvectors: a · v = v · diag(w).
///
/// a is [batch, n, n]. With range all, w is [batch, n] and v [batch, n, n], with orthonormal
/// columns. With range indices, w is [batch, k] and v [batch, n, k]: those from index `first` on,
/// counted from 0. With range values they have room for k: those in (lower, upper]. How many there
/// are is in `count` (i64, the extents of the batch); elements of w behind them are NaN, columns of
/// v behind them zero. If they are more than k the request fails with `capacity_exceeded`, whose
/// message has the largest count; count has them too, w and v are then unspecified.
///
/// info: the number of off-diagonal elements that did not converge, or −1 where a has infinities or
/// NaNs; the results of that matrix are then unspecified. Source: LAPACK xSYEVD, xSYEVR; cuSOLVER
/// Xsyevd, XsyevBatched, syevj.
struct TROUPE_EXPORT eigh {
  static constexpr std::string_view name = "solver.eigh";
  using reply = void;

  any_tensor a{};
  any_tensor w{};
  any_tensor v{};
  any_tensor count{};
  any_tensor info{};
  bool vectors = true;
  blas::uplo uplo = blas::uplo::lower;
  eigen_driver driver = eigen_driver::automatic;
  eigen_range range = eigen_range::all;
  double lower = 0;
  double upper = 0;
  std::int64_t first = 0;

  static void describe(description<eigh>& d);
};

/// Finds eigenvalues and, if `vectors` is set, eigenvectors of two matrices, b positive definite.
///
/// a and b are [batch, n, n], w is [batch, n], v [batch, n, n]. The columns of v are orthonormal by
/// b: vᴴ · b · v = 1 (ax_lbx, abx_lx), or by its inverse: vᴴ · b⁻¹ · v = 1 (bax_lx). info: up to n,
/// the number of off-diagonal elements that did not converge; n + i where the leading minor i of b
/// is not positive; −1 where a or b has infinities or NaNs; w and v are then unspecified. Source:
/// LAPACK xSYGVD, xHEGVD.
struct TROUPE_EXPORT eigh_generalised {
  static constexpr std::string_view name = "solver.eigh_generalised";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  any_tensor w{};
  any_tensor v{};
  any_tensor info{};
  eigen_problem problem = eigen_problem::ax_lbx;
  bool vectors = true;
  blas::uplo uplo = blas::uplo::lower;

  static void describe(description<eigh_generalised>& d);
};

}  // namespace troupe::solver
