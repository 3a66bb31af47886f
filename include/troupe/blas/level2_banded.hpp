#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

/// BLAS level 2: band matrices and vectors, in LAPACK's band storage.
///
/// The storage of a band matrix is a rank-2 view `ab` with one column per column of the matrix and
/// one row per diagonal. It is column-major: its first dimension has unit stride, the second a
/// stride of at least the first extent. `.transpose()` of a packed row-major tensor [n, diagonals]
/// gives such a view. Elements of the storage that lie outside the matrix are not read. Strides
/// cannot express the transpose of a band matrix; use `op_a` instead. Other rules and errors as in
/// `level2.hpp`.
namespace troupe::blas {

/// Multiplies a general band matrix and a vector: y = alpha · op_a(a) · x + beta · y.
///
/// a is m×n with kl diagonals below and ku above the main one: ab is [kl + ku + 1, n] with
/// ab[ku + i − j, j] = a[i, j]. x is [n] and y [m], exchanged when op_a transposes. Reads y unless
/// beta is zero. Types: f32, f64, c64, c128. Source: BLAS xGBMV.
struct TROUPE_EXPORT gbmv {
  static constexpr std::string_view name = "blas.gbmv";
  using reply = void;

  any_tensor ab{};
  any_tensor x{};
  any_tensor y{};
  std::int64_t kl = 0;
  std::int64_t ku = 0;
  scalar alpha = 1;
  scalar beta = 0;
  storage_op op_a = storage_op::none;

  static void describe(description<gbmv>& d);
};

/// Multiplies a symmetric band matrix and a vector: y = alpha · a · x + beta · y.
///
/// a is n×n with k diagonals on either side: ab is [k + 1, n] with one triangle, upper as ab[k + i
/// − j, j] = a[i, j], lower as ab[i − j, j] = a[i, j]. x and y are [n]. Complex matrices are
/// symmetric as well, not Hermitian. Types: f32, f64, c64, c128. Source: BLAS xSBMV, extended to
/// complex types.
struct TROUPE_EXPORT sbmv {
  static constexpr std::string_view name = "blas.sbmv";
  using reply = void;

  any_tensor ab{};
  any_tensor x{};
  any_tensor y{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::uplo uplo = blas::uplo::upper;

  static void describe(description<sbmv>& d);
};

/// Multiplies a Hermitian band matrix and a vector: y = alpha · a · x + beta · y.
///
/// As `sbmv`. Types: c64, c128. Source: BLAS xHBMV.
struct TROUPE_EXPORT hbmv {
  static constexpr std::string_view name = "blas.hbmv";
  using reply = void;

  any_tensor ab{};
  any_tensor x{};
  any_tensor y{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::uplo uplo = blas::uplo::upper;

  static void describe(description<hbmv>& d);
};

/// Multiplies a vector by a triangular band matrix: x = op_a(a) · x.
///
/// ab is [k + 1, n], one triangle as in `sbmv`; x is [n], updated. The diagonal is not read if
/// `diag` is unit. Types: f32, f64, c64, c128. Source: BLAS xTBMV.
struct TROUPE_EXPORT tbmv {
  static constexpr std::string_view name = "blas.tbmv";
  using reply = void;

  any_tensor ab{};
  any_tensor x{};
  blas::uplo uplo = blas::uplo::upper;
  blas::diag diag = blas::diag::non_unit;
  storage_op op_a = storage_op::none;

  static void describe(description<tbmv>& d);
};

/// Solves a triangular band system: x = op_a(a)⁻¹ · x.
///
/// As `tbmv`. A zero on the diagonal is not detected. Types: f32, f64, c64, c128. Source: BLAS
/// xTBSV.
struct TROUPE_EXPORT tbsv {
  static constexpr std::string_view name = "blas.tbsv";
  using reply = void;

  any_tensor ab{};
  any_tensor x{};
  blas::uplo uplo = blas::uplo::upper;
  blas::diag diag = blas::diag::non_unit;
  storage_op op_a = storage_op::none;

  static void describe(description<tbsv>& d);
};

}  // namespace troupe::blas
