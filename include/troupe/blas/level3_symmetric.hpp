#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

/// BLAS level 3: products with symmetric and Hermitian matrices.
///
/// Rules and errors as in `level3.hpp`. Only triangle `uplo` of the symmetric or Hermitian matrix
/// is read or written. The diagonal of a Hermitian matrix is real: its imaginary parts are not
/// read, and are set to zero when the matrix is updated. An update with beta = 1 that adds nothing
/// (alpha = 0 or k = 0) changes nothing. Types: f32, f64, c64, c128 for symmetric operations, c64
/// and c128 for Hermitian ones.
namespace troupe::blas {

/// Multiplies by a symmetric matrix: c = alpha · a · b + beta · c (left), or c = alpha · b · a +
/// beta · c (right).
///
/// b and c are [m, n] with the same storage order. a is [m, m] (left) or [n, n] (right), with any
/// order. Reads c unless beta is zero. Source: BLAS xSYMM.
struct TROUPE_EXPORT symm {
  static constexpr std::string_view name = "blas.symm";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  any_tensor c{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::side side = blas::side::left;
  blas::uplo uplo = blas::uplo::upper;
  math_mode math = math_mode::strict;
  bool deterministic = false;

  static void describe(description<symm>& d);
};

/// Multiplies by a Hermitian matrix: c = alpha · a · b + beta · c (left), or c = alpha · b · a +
/// beta · c (right).
///
/// As `symm`, but a, b and c must all have the same storage order. Source: BLAS xHEMM.
struct TROUPE_EXPORT hemm {
  static constexpr std::string_view name = "blas.hemm";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  any_tensor c{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::side side = blas::side::left;
  blas::uplo uplo = blas::uplo::upper;
  math_mode math = math_mode::strict;
  bool deterministic = false;

  static void describe(description<hemm>& d);
};

/// Adds a symmetric product of a matrix with itself: c = alpha · a · aᵀ + beta · c.
///
/// a is [n, k]; c is [n, n], updated in triangle `uplo`. Each may have any storage order. Pass
/// `a.transpose()` to compute aᵀ · a. The triangle's old content is not read if beta is zero.
/// Source: BLAS xSYRK.
struct TROUPE_EXPORT syrk {
  static constexpr std::string_view name = "blas.syrk";
  using reply = void;

  any_tensor a{};
  any_tensor c{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::uplo uplo = blas::uplo::upper;
  math_mode math = math_mode::strict;
  bool deterministic = false;

  static void describe(description<syrk>& d);
};

/// Adds a Hermitian product of a matrix with itself: c = alpha · op_a(a) · op_a(a)ᴴ + beta · c.
///
/// a is [n, k]; c is [n, n], updated in triangle `uplo`; alpha and beta must be real. BLAS supports
/// two cases. With `op::none` a has the storage order of c, for a · aᴴ. With `op::conjugate` a has
/// the other order; pass `a.transpose()` of an a in the order of c to compute aᴴ · a. Anything else
/// is `layout_unsupported`. Source: BLAS xHERK.
struct TROUPE_EXPORT herk {
  static constexpr std::string_view name = "blas.herk";
  using reply = void;

  any_tensor a{};
  any_tensor c{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::uplo uplo = blas::uplo::upper;
  op op_a = op::none;
  math_mode math = math_mode::strict;
  bool deterministic = false;

  static void describe(description<herk>& d);
};

/// Adds a symmetric product of two matrices: c = alpha · a · bᵀ + alpha · b · aᵀ + beta · c.
///
/// a and b are [n, k] with the same storage order. c is [n, n] with any order, updated in triangle
/// `uplo`. Source: BLAS xSYR2K.
struct TROUPE_EXPORT syr2k {
  static constexpr std::string_view name = "blas.syr2k";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  any_tensor c{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::uplo uplo = blas::uplo::upper;
  math_mode math = math_mode::strict;
  bool deterministic = false;

  static void describe(description<syr2k>& d);
};

/// Adds a Hermitian product of two matrices:
/// c = alpha · op_ab(a) · op_ab(b)ᴴ + conj(alpha) · op_ab(b) · op_ab(a)ᴴ + beta · c.
///
/// a and b are [n, k] with the same storage order; c is [n, n], updated in triangle `uplo`; beta
/// must be real. Orders and `op_ab` as in `herk`. Source: BLAS xHER2K.
struct TROUPE_EXPORT her2k {
  static constexpr std::string_view name = "blas.her2k";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  any_tensor c{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::uplo uplo = blas::uplo::upper;
  op op_ab = op::none;
  math_mode math = math_mode::strict;
  bool deterministic = false;

  static void describe(description<her2k>& d);
};

}  // namespace troupe::blas
