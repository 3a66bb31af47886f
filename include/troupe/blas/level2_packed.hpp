#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

/// BLAS level 2: triangles in packed storage and vectors.
///
/// The packed storage of one triangle of an n×n matrix is a rank-1 view `ap` of n(n+1)/2 elements
/// with unit stride, column by column: upper ap[i + j(j+1)/2] = a[i, j], lower ap[i + j(2n−j−1)/2]
/// = a[i, j] (row-major upper packing equals lower packing of the transposed matrix). Strides
/// cannot express the transpose; use `op_a` instead. The diagonal of a Hermitian matrix is real:
/// its imaginary parts are not read, and are set to zero when the matrix is updated. An update with
/// alpha = 0 changes nothing. Other rules and errors as in `level2.hpp`.
namespace troupe::blas {

/// Multiplies a symmetric matrix and a vector: y = alpha · a · x + beta · y.
///
/// ap is [n(n+1)/2], x and y are [n]. Reads y unless beta is zero. Complex matrices are symmetric
/// as well, not Hermitian. Types: f32, f64, c64, c128. Source: BLAS xSPMV, LAPACK for complex
/// types.
struct TROUPE_EXPORT spmv {
  static constexpr std::string_view name = "blas.spmv";
  using reply = void;

  any_tensor ap{};
  any_tensor x{};
  any_tensor y{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::uplo uplo = blas::uplo::upper;

  static void describe(description<spmv>& d);
};

/// Multiplies a Hermitian matrix and a vector: y = alpha · a · x + beta · y.
///
/// As `spmv`. Types: c64, c128. Source: BLAS xHPMV.
struct TROUPE_EXPORT hpmv {
  static constexpr std::string_view name = "blas.hpmv";
  using reply = void;

  any_tensor ap{};
  any_tensor x{};
  any_tensor y{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::uplo uplo = blas::uplo::upper;

  static void describe(description<hpmv>& d);
};

/// Adds a symmetric product of a vector with itself: a = alpha · x · xᵀ + a.
///
/// ap is [n(n+1)/2], updated; x is [n]. Types: f32, f64. Source: BLAS xSPR.
struct TROUPE_EXPORT spr {
  static constexpr std::string_view name = "blas.spr";
  using reply = void;

  any_tensor x{};
  any_tensor ap{};
  scalar alpha = 1;
  blas::uplo uplo = blas::uplo::upper;

  static void describe(description<spr>& d);
};

/// Adds a Hermitian product of a vector with itself: a = alpha · x · xᴴ + a.
///
/// As `spr`; alpha must be real. Types: c64, c128. Source: BLAS xHPR.
struct TROUPE_EXPORT hpr {
  static constexpr std::string_view name = "blas.hpr";
  using reply = void;

  any_tensor x{};
  any_tensor ap{};
  scalar alpha = 1;
  blas::uplo uplo = blas::uplo::upper;

  static void describe(description<hpr>& d);
};

/// Adds a symmetric product of two vectors: a = alpha · x · yᵀ + alpha · y · xᵀ + a.
///
/// ap is [n(n+1)/2], updated; x and y are [n]. Types: f32, f64. Source: BLAS xSPR2.
struct TROUPE_EXPORT spr2 {
  static constexpr std::string_view name = "blas.spr2";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  any_tensor ap{};
  scalar alpha = 1;
  blas::uplo uplo = blas::uplo::upper;

  static void describe(description<spr2>& d);
};

/// Adds a Hermitian product of two vectors: a = alpha · x · yᴴ + conj(alpha) · y · xᴴ + a.
///
/// As `spr2`. Types: c64, c128. Source: BLAS xHPR2.
struct TROUPE_EXPORT hpr2 {
  static constexpr std::string_view name = "blas.hpr2";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  any_tensor ap{};
  scalar alpha = 1;
  blas::uplo uplo = blas::uplo::upper;

  static void describe(description<hpr2>& d);
};

/// Multiplies a vector by a triangular matrix: x = op_a(a) · x.
///
/// ap is [n(n+1)/2]; x is [n], updated. The diagonal is not read when `diag` is unit.
/// Types: f32, f64, c64, c128. Source: BLAS xTPMV.
struct TROUPE_EXPORT tpmv {
  static constexpr std::string_view name = "blas.tpmv";
  using reply = void;

  any_tensor ap{};
  any_tensor x{};
  blas::uplo uplo = blas::uplo::upper;
  blas::diag diag = blas::diag::non_unit;
  storage_op op_a = storage_op::none;

  static void describe(description<tpmv>& d);
};

/// Solves a triangular system: x = op_a(a)⁻¹ · x.
///
/// As `tpmv`. A zero on the diagonal is not detected. Types: f32, f64, c64, c128. Source: BLAS
/// xTPSV.
struct TROUPE_EXPORT tpsv {
  static constexpr std::string_view name = "blas.tpsv";
  using reply = void;

  any_tensor ap{};
  any_tensor x{};
  blas::uplo uplo = blas::uplo::upper;
  blas::diag diag = blas::diag::non_unit;
  storage_op op_a = storage_op::none;

  static void describe(description<tpsv>& d);
};

}  // namespace troupe::blas
