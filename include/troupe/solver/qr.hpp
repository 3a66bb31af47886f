#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>
#include <troupe/solver/modes.hpp>

/// QR factorisation, and what its Q is used for. Rules and errors as in `lu.hpp`.
///
/// Q is kept as min(m, n) Householder reflectors, one a column, below the diagonal of `qr`, with
/// their factors in `tau`. For complex types LAPACK calls orgqr and ormqr ungqr and unmqr.
namespace troupe::solver {

/// Factors matrices: a = Q · R.
///
/// a is [batch, m, n]; writes qr, of the same extents: R in the upper triangle, the reflectors
/// below it. tau is [batch, min(m, n)]. Source: LAPACK xGEQRF.
struct TROUPE_EXPORT geqrf {
  static constexpr std::string_view name = "solver.geqrf";
  using reply = void;

  any_tensor a{};
  any_tensor qr{};
  any_tensor tau{};

  static void describe(description<geqrf>& d);
};

/// Factors matrices with pivoting of columns: a · P = Q · R.
///
/// At each step the column that is longest below the rows above comes next, so the diagonal of R
/// does not grow in magnitude. Once it is small, the columns up to there span a up to as little. a,
/// qr and tau as in `geqrf`, for `orgqr` and `ormqr` as well. columns (i64, [batch, n]) counts from
/// 0: column j of qr was column columns[j] of a. Source: LAPACK xGEQP3, without its fixed columns.
struct TROUPE_EXPORT geqp3 {
  static constexpr std::string_view name = "solver.geqp3";
  using reply = void;

  any_tensor a{};
  any_tensor qr{};
  any_tensor tau{};
  any_tensor columns{};

  static void describe(description<geqp3>& d);
};

/// Writes Q, from the reflectors of `geqrf` or `geqp3`.
///
/// qr is [batch, m, n], tau [batch, min(m, n)]. q is [batch, m, min(m, n)], or with the full basis
/// [batch, m, m]. Source: LAPACK xORGQR, xUNGQR.
struct TROUPE_EXPORT orgqr {
  static constexpr std::string_view name = "solver.orgqr";
  using reply = void;

  any_tensor qr{};
  any_tensor tau{};
  any_tensor q{};
  solver::basis basis = solver::basis::thin;

  static void describe(description<orgqr>& d);
};

/// Multiplies by Q, which is not formed: y = op_q(Q) · x (left), or y = x · op_q(Q) (right).
///
/// x and y are [batch, m, n]; qr is [batch, m, k] (left) or [batch, n, k] (right), with Q square.
/// tau has the smaller of both extents of qr. op_q is none or conjugate_transpose; for real types
/// transpose means the same (`unsupported` else). Source: LAPACK xORMQR, xUNMQR.
struct TROUPE_EXPORT ormqr {
  static constexpr std::string_view name = "solver.ormqr";
  using reply = void;

  any_tensor qr{};
  any_tensor tau{};
  any_tensor x{};
  any_tensor y{};
  blas::side side = blas::side::left;
  blas::storage_op op_q = blas::storage_op::none;

  static void describe(description<ormqr>& d);
};

}  // namespace troupe::solver
