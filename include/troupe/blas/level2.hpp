#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

/// BLAS level 2: a general or triangular matrix and vectors.
///
/// A matrix is a rank-2 view with unit stride in one dimension and a leading dimension of at least
/// the other extent. So it is row- or column-major, and a transposed view transposes it. A vector
/// is a rank-1 view with a stride of at least 1. Anything else is `errc::layout_unsupported`. An
/// operand that is written must not share elements with one that is read (`errc::aliasing`). Other
/// errors: `shape_mismatch`, `type_mismatch`, and `invalid_argument` for an imaginary factor of a
/// real type.
namespace troupe::blas {

/// Multiplies a matrix and a vector: y = alpha · op_a(a) · x + beta · y.
///
/// a is [m, n], x is [n], y is [m]. Reads a and x, and y unless beta is zero. With n = 0, y = beta
/// · y (reference BLAS leaves y unchanged; here gemv equals a gemm with one column). Types: f32,
/// f64, c64, c128. Source: BLAS xGEMV.
struct TROUPE_EXPORT gemv {
  static constexpr std::string_view name = "blas.gemv";
  using reply = void;

  any_tensor a{};
  any_tensor x{};
  any_tensor y{};
  scalar alpha = 1;
  scalar beta = 0;
  op op_a = op::none;

  static void describe(description<gemv>& d);
};

/// Adds a product of two real vectors to a matrix: a = alpha · x · yᵀ + a.
///
/// a is [m, n], x is [m], y is [n]. Updates a. Types: f32, f64. Source: BLAS xGER.
struct TROUPE_EXPORT ger {
  static constexpr std::string_view name = "blas.ger";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  any_tensor a{};
  scalar alpha = 1;

  static void describe(description<ger>& d);
};

/// Adds a product of two complex vectors to a matrix: a = alpha · x · yᵀ + a.
///
/// As `ger`. Types: c64, c128. Source: BLAS xGERU.
struct TROUPE_EXPORT geru {
  static constexpr std::string_view name = "blas.geru";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  any_tensor a{};
  scalar alpha = 1;

  static void describe(description<geru>& d);
};

/// Adds a product of two complex vectors to a matrix: a = alpha · x · yᴴ + a.
///
/// As `ger`. Types: c64, c128. Source: BLAS xGERC.
struct TROUPE_EXPORT gerc {
  static constexpr std::string_view name = "blas.gerc";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  any_tensor a{};
  scalar alpha = 1;

  static void describe(description<gerc>& d);
};

/// Multiplies a vector by a triangular matrix: x = op_a(a) · x.
///
/// a is [n, n]. Only its triangle `uplo` is read, without the diagonal if `diag` is unit. x is [n],
/// updated. Types: f32, f64, c64, c128. Source: BLAS xTRMV.
struct TROUPE_EXPORT trmv {
  static constexpr std::string_view name = "blas.trmv";
  using reply = void;

  any_tensor a{};
  any_tensor x{};
  blas::uplo uplo = blas::uplo::upper;
  blas::diag diag = blas::diag::non_unit;
  op op_a = op::none;

  static void describe(description<trmv>& d);
};

/// Solves a triangular system: x = op_a(a)⁻¹ · x.
///
/// As `trmv`. A zero on the diagonal is not detected; it gives infinities and NaNs. Types: f32,
/// f64, c64, c128. Source: BLAS xTRSV.
struct TROUPE_EXPORT trsv {
  static constexpr std::string_view name = "blas.trsv";
  using reply = void;

  any_tensor a{};
  any_tensor x{};
  blas::uplo uplo = blas::uplo::upper;
  blas::diag diag = blas::diag::non_unit;
  op op_a = op::none;

  static void describe(description<trsv>& d);
};

}  // namespace troupe::blas
