#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

/// Cholesky factorisation of symmetric (real) and Hermitian (complex) positive definite matrices,
/// solves and inverses. Rules and errors as in `lu.hpp`.
///
/// Only triangle `uplo` of a matrix or factor is read, and the imaginary part of a's diagonal is
/// taken to be zero.
namespace troupe::solver {

/// Factors matrices: a = L · Lᴴ (lower), or a = Uᴴ · U (upper).
///
/// a is [batch, n, n]; writes factor, of the same extents: L or U in triangle `uplo`, zeros in the
/// other. In place, the other triangle is left as it is. info: the order i of the first leading
/// minor that is not positive; the first i − 1 columns of L (rows of U) are those of the factor,
/// the others unspecified. Source: LAPACK xPOTRF.
struct TROUPE_EXPORT potrf {
  static constexpr std::string_view name = "solver.potrf";
  using reply = void;

  any_tensor a{};
  any_tensor factor{};
  any_tensor info{};
  blas::uplo uplo = blas::uplo::lower;

  static void describe(description<potrf>& d);
};

/// Solves systems with factors from `potrf`: a · x = b.
///
/// factor is [batch, n, n], b and x are [batch, n, nrhs]. A zero on the factor's diagonal is not
/// detected. Source: LAPACK xPOTRS.
struct TROUPE_EXPORT potrs {
  static constexpr std::string_view name = "solver.potrs";
  using reply = void;

  any_tensor factor{};
  any_tensor b{};
  any_tensor x{};
  blas::uplo uplo = blas::uplo::lower;

  static void describe(description<potrs>& d);
};

/// Inverts matrices from their factors of `potrf`: inverse = a⁻¹.
///
/// factor and inverse are [batch, n, n]; both triangles of inverse are written. info: i where the
/// factor's diagonal element i is zero, and so no inverse was written. Source: LAPACK xPOTRI.
struct TROUPE_EXPORT potri {
  static constexpr std::string_view name = "solver.potri";
  using reply = void;

  any_tensor factor{};
  any_tensor inverse{};
  any_tensor info{};
  blas::uplo uplo = blas::uplo::lower;

  static void describe(description<potri>& d);
};

/// Solves systems with positive definite matrices: a · x = b.
///
/// a is [batch, n, n], b and x are [batch, n, nrhs]. info as in `potrf`; x is then unspecified.
/// Source: LAPACK xPOSV.
struct TROUPE_EXPORT posv {
  static constexpr std::string_view name = "solver.posv";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  any_tensor x{};
  any_tensor info{};
  blas::uplo uplo = blas::uplo::lower;

  static void describe(description<posv>& d);
};

}  // namespace troupe::solver
