#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

/// Factorisation of symmetric and Hermitian matrices that need not be definite, by Bunch's and
/// Kaufman's pivoting, and solves. Rules and errors as in `lu.hpp`.
///
/// Only triangle `uplo` of a matrix or factor is read. D is block diagonal, of blocks 1×1 and 2×2;
/// U and L are products of exchanges of rows and of unit triangular matrices. Factor and pivots are
/// LAPACK's: pivots count from 1 and are positive for a 1×1 block; both pivots of a 2×2 block are
/// the same negative number. Pivots from one backend can be solved with on the other.
namespace troupe::solver {

/// Factors symmetric matrices: a = U · D · Uᵀ (upper), or a = L · D · Lᵀ (lower). Complex matrices
/// are symmetric too, not Hermitian.
///
/// a is [batch, n, n]; writes factor, of the same extents: D and the multipliers of U or L in
/// triangle `uplo`, zeros in the other. In place, the other triangle is left as it is. pivots is
/// i64, [batch, n]. info: i where a block of D is zero at i, counted from 1; the factors are
/// complete then, but do not solve. Source: LAPACK xSYTRF.
struct TROUPE_EXPORT sytrf {
  static constexpr std::string_view name = "solver.sytrf";
  using reply = void;

  any_tensor a{};
  any_tensor factor{};
  any_tensor pivots{};
  any_tensor info{};
  blas::uplo uplo = blas::uplo::lower;

  static void describe(description<sytrf>& d);
};

/// Solves systems with factors from `sytrf`: a · x = b.
///
/// factor is [batch, n, n], pivots [batch, n], b and x are [batch, n, nrhs]. A zero block of D is
/// not detected. Pivots that are not within 1 … n, nor negative in pairs, are `invalid_argument`,
/// detected when the request runs: x is then undefined. Source: LAPACK xSYTRS.
struct TROUPE_EXPORT sytrs {
  static constexpr std::string_view name = "solver.sytrs";
  using reply = void;

  any_tensor factor{};
  any_tensor pivots{};
  any_tensor b{};
  any_tensor x{};
  blas::uplo uplo = blas::uplo::lower;

  static void describe(description<sytrs>& d);
};

/// Factors Hermitian matrices: a = U · D · Uᴴ (upper), or a = L · D · Lᴴ (lower).
///
/// As `sytrf`, for c64 and c128. The imaginary part of a's diagonal is taken to be zero. Source:
/// LAPACK xHETRF.
struct TROUPE_EXPORT hetrf {
  static constexpr std::string_view name = "solver.hetrf";
  using reply = void;

  any_tensor a{};
  any_tensor factor{};
  any_tensor pivots{};
  any_tensor info{};
  blas::uplo uplo = blas::uplo::lower;

  static void describe(description<hetrf>& d);
};

/// Solves systems with factors from `hetrf`: a · x = b. As `sytrs`. Source: LAPACK xHETRS.
struct TROUPE_EXPORT hetrs {
  static constexpr std::string_view name = "solver.hetrs";
  using reply = void;

  any_tensor factor{};
  any_tensor pivots{};
  any_tensor b{};
  any_tensor x{};
  blas::uplo uplo = blas::uplo::lower;

  static void describe(description<hetrs>& d);
};

}  // namespace troupe::solver
