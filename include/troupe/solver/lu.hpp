#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

/// LU factorisation with partial pivoting, solves and inverses. This comment applies to every
/// request of the solver.
///
/// Matrices are the last two dimensions of their tensors; all dimensions before them are a batch,
/// the same for all operands, and may be none. Matrices have any strides: row-major, column-major
/// and others; those that the library cannot take go through a packed copy in the lane's workspace.
/// Vectors (pivots, tau, singular values, eigenvalues, info) are packed. Types: f32, f64, c64,
/// c128. A matrix has less than 2^31 rows and columns (`size_overflow`). An extent of 0 is valid.
///
/// An output may be the view of the operand that it is computed from, if the field says so: the
/// request is then not run again after a fault, as it has overwritten its input.
///
/// **Outcomes.** A matrix without a solution makes the request fail with `errc::numerical`. The
/// message begins with the outcome: "singular: pivot 7 is zero"; in a batch with the matrix,
/// counted from 0 in row-major order of the batch: "matrix 3: singular: pivot 7 is zero". All the
/// other matrices of the batch have been computed all the same, and nothing is tainted. `info`
/// (i32, the extents of the batch), if given, has LAPACK's info for each matrix: 0, or a number
/// that counts from 1 and that each request explains.
namespace troupe::solver {

/// Factors matrices: a = P · L · U, with partial pivoting.
///
/// a is [batch, m, n]; writes lu, of the same extents: U in the upper triangle, L below it without
/// its unit diagonal. pivots (i64, [batch, min(m, n)]) count from 1: row i was exchanged with row
/// pivots[i] − 1. info: i where U[i, i], counted from 1, is zero; the factors are complete then,
/// but do not solve. Source: LAPACK xGETRF.
struct TROUPE_EXPORT getrf {
  static constexpr std::string_view name = "solver.getrf";
  using reply = void;

  any_tensor a{};
  any_tensor lu{};
  any_tensor pivots{};
  any_tensor info{};

  static void describe(description<getrf>& d);
};

/// Solves systems with factors from `getrf`: op_a(a) · x = b.
///
/// lu is [batch, n, n], pivots [batch, n], b and x are [batch, n, nrhs]. A zero on the diagonal of
/// U is not detected; it gives infinities and NaNs. Pivots outside 1 … n are `invalid_argument`,
/// detected when the request runs: x is then undefined. Source: LAPACK xGETRS.
struct TROUPE_EXPORT getrs {
  static constexpr std::string_view name = "solver.getrs";
  using reply = void;

  any_tensor lu{};
  any_tensor pivots{};
  any_tensor b{};
  any_tensor x{};
  blas::storage_op op_a = blas::storage_op::none;

  static void describe(description<getrs>& d);
};

/// Inverts matrices from their factors of `getrf`: inverse = a⁻¹.
///
/// lu and inverse are [batch, n, n]. info: i where U[i, i] is zero, and so no inverse was written.
/// Pivots as in `getrs`. Source: LAPACK xGETRI.
struct TROUPE_EXPORT getri {
  static constexpr std::string_view name = "solver.getri";
  using reply = void;

  any_tensor lu{};
  any_tensor pivots{};
  any_tensor inverse{};
  any_tensor info{};

  static void describe(description<getri>& d);
};

/// Solves systems: a · x = b, by LU with partial pivoting.
///
/// a is [batch, n, n], b and x are [batch, n, nrhs]. info: i where U[i, i] is zero, and so x is
/// unspecified. Use `getrf` and `getrs` to solve again with the same matrix. Source: LAPACK xGESV.
struct TROUPE_EXPORT gesv {
  static constexpr std::string_view name = "solver.gesv";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  any_tensor x{};
  any_tensor info{};

  static void describe(description<gesv>& d);
};

}  // namespace troupe::solver
