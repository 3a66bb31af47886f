#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

/// BLAS level 2: symmetric and Hermitian matrices and vectors.
///
/// Rules and errors as in `level2.hpp`. Only triangle `uplo` of the matrix is read or written. The
/// diagonal of a Hermitian matrix is real: its imaginary parts are not read, and are set to zero
/// when the matrix is updated. An update with alpha = 0 changes nothing.
namespace troupe::blas {

/// Multiplies a symmetric matrix and a vector: y = alpha · a · x + beta · y.
///
/// a is [n, n], x and y are [n]. Reads y unless beta is zero. Complex matrices are symmetric as
/// well, not Hermitian. Types: f32, f64, c64, c128. Source: BLAS xSYMV, LAPACK for complex types.
struct TROUPE_EXPORT symv {
  static constexpr std::string_view name = "blas.symv";
  using reply = void;

  any_tensor a{};
  any_tensor x{};
  any_tensor y{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::uplo uplo = blas::uplo::upper;
  bool deterministic = false;

  static void describe(description<symv>& d);
};

/// Multiplies a Hermitian matrix and a vector: y = alpha · a · x + beta · y.
///
/// As `symv`. Types: c64, c128. Source: BLAS xHEMV.
struct TROUPE_EXPORT hemv {
  static constexpr std::string_view name = "blas.hemv";
  using reply = void;

  any_tensor a{};
  any_tensor x{};
  any_tensor y{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::uplo uplo = blas::uplo::upper;
  bool deterministic = false;

  static void describe(description<hemv>& d);
};

/// Adds a symmetric product of a vector with itself: a = alpha · x · xᵀ + a.
///
/// a is [n, n], updated in triangle `uplo`; x is [n]. Types: f32, f64, c64, c128. Source: BLAS
/// xSYR, LAPACK for complex types.
struct TROUPE_EXPORT syr {
  static constexpr std::string_view name = "blas.syr";
  using reply = void;

  any_tensor x{};
  any_tensor a{};
  scalar alpha = 1;
  blas::uplo uplo = blas::uplo::upper;

  static void describe(description<syr>& d);
};

/// Adds a Hermitian product of a vector with itself: a = alpha · x · xᴴ + a.
///
/// As `syr`; alpha must be real. Types: c64, c128. Source: BLAS xHER.
struct TROUPE_EXPORT her {
  static constexpr std::string_view name = "blas.her";
  using reply = void;

  any_tensor x{};
  any_tensor a{};
  scalar alpha = 1;
  blas::uplo uplo = blas::uplo::upper;

  static void describe(description<her>& d);
};

/// Adds a symmetric product of two vectors: a = alpha · x · yᵀ + alpha · y · xᵀ + a.
///
/// a is [n, n], updated in triangle `uplo`; x and y are [n]. Types: f32, f64, c64, c128. Source:
/// BLAS xSYR2.
struct TROUPE_EXPORT syr2 {
  static constexpr std::string_view name = "blas.syr2";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  any_tensor a{};
  scalar alpha = 1;
  blas::uplo uplo = blas::uplo::upper;

  static void describe(description<syr2>& d);
};

/// Adds a Hermitian product of two vectors: a = alpha · x · yᴴ + conj(alpha) · y · xᴴ + a.
///
/// As `syr2`. Types: c64, c128. Source: BLAS xHER2.
struct TROUPE_EXPORT her2 {
  static constexpr std::string_view name = "blas.her2";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  any_tensor a{};
  scalar alpha = 1;
  blas::uplo uplo = blas::uplo::upper;

  static void describe(description<her2>& d);
};

}  // namespace troupe::blas
