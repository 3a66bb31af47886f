#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>

/// Systems whose matrices have few diagonals. Rules and errors as in `lu.hpp`.
///
/// The storage of a band matrix is that of `blas::gbmv` and `blas::sbmv`: one column per column of
/// the matrix, one row per diagonal, and here a batch before them and any strides. Elements of the
/// storage that lie outside the matrix have no effect. A GPU solves with a block of threads for
/// each matrix, so batches suit it better than a single long matrix.
namespace troupe::solver {

/// Solves systems with band matrices: a · x = b, by LU with partial pivoting.
///
/// a is n×n with kl diagonals below and ku above the main one: ab is [batch, kl + ku + 1, n] with
/// ab[ku + i − j, j] = a[i, j]. b and x are [batch, n, nrhs]. info: i where U[i, i] is zero, and so
/// x is unspecified. Source: LAPACK xGBSV.
struct TROUPE_EXPORT gbsv {
  static constexpr std::string_view name = "solver.gbsv";
  using reply = void;

  any_tensor ab{};
  any_tensor b{};
  any_tensor x{};
  any_tensor info{};
  std::int64_t kl = 0;
  std::int64_t ku = 0;

  static void describe(description<gbsv>& d);
};

/// Solves systems with symmetric (real) or Hermitian (complex) positive definite band matrices:
/// a · x = b, by Cholesky.
///
/// a is n×n with k diagonals on either side: ab is [batch, k + 1, n] with one triangle, upper as
/// ab[k + i − j, j] = a[i, j], lower as ab[i − j, j] = a[i, j]. The imaginary part of a's diagonal
/// is taken to be zero. b and x are [batch, n, nrhs]. info: the order of the first leading minor
/// that is not positive; x is then unspecified. Source: LAPACK xPBSV.
struct TROUPE_EXPORT pbsv {
  static constexpr std::string_view name = "solver.pbsv";
  using reply = void;

  any_tensor ab{};
  any_tensor b{};
  any_tensor x{};
  any_tensor info{};
  blas::uplo uplo = blas::uplo::lower;

  static void describe(description<pbsv>& d);
};

}  // namespace troupe::solver
