#pragma once

#include <cstdint>

/// Options of the solver's requests. Triangles, diagonals, sides and operations on factors are
/// those of blas.
namespace troupe::solver {

/// How many columns an orthonormal basis has: as many as are needed, or all.
enum class basis : std::uint8_t { thin, full };

/// How least squares are found.
enum class least_squares_driver : std::uint8_t {
  qr,   ///< by QR of a matrix that has full rank; a zero on R's diagonal is `numerical`
  svd,  ///< by singular values, for a matrix of any rank: the solution of least norm
};

/// The algorithm of a singular value decomposition. A backend that lacks `qr`, `jacobi`, `polar` or
/// `approximate` computes as `automatic`, which is as exact or more so.
enum class svd_driver : std::uint8_t {
  automatic,    ///< the fastest that is exact on this backend
  qr,           ///< bidiagonal QR (LAPACK xGESVD)
  jacobi,       ///< one-sided Jacobi: small singular values to a high relative accuracy
  polar,        ///< by a polar decomposition; no backend has one that is exact
  randomised,   ///< the largest ones alone, by a random projection (Halko, Martinsson, Tropp 2011)
  approximate,  ///< the largest ones alone, for batches of tall matrices (cuSOLVER gesvda)
};

/// Which singular vectors are wanted.
enum class singular_vectors : std::uint8_t {
  none,
  thin,  ///< as many as there are singular values
  full,  ///< a basis of the whole space on both sides
};

/// The algorithm of a symmetric or Hermitian eigenproblem. A backend that lacks `jacobi` computes
/// as `automatic`.
enum class eigen_driver : std::uint8_t { automatic, divide_and_conquer, jacobi };

/// Which eigenvalues are wanted.
enum class eigen_range : std::uint8_t {
  all,
  values,   ///< those in (lower, upper]
  indices,  ///< those of an interval of indices, counted from the smallest
};

/// A generalised eigenproblem with eigenvalues l.
enum class eigen_problem : std::uint8_t {
  ax_lbx,  ///< a · x = l · b · x (LAPACK's itype 1)
  abx_lx,  ///< a · b · x = l · x (2)
  bax_lx,  ///< b · a · x = l · x (3)
};

/// The order in which a sparse matrix is factored.
enum class ordering : std::uint8_t {
  automatic,  ///< one that keeps the factors sparse
  none,       ///< as the matrix is
};

}  // namespace troupe::solver
