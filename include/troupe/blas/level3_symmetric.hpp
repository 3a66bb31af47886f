#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

/// BLAS level 3: products with symmetric and Hermitian matrices.
///
/// Rules and errors as in `level3.hpp`. Only triangle `uplo` of the symmetric or Hermitian matrix
/// is read or written. The diagonal of a Hermitian matrix is real: imaginary parts there are not
/// read, and set to zero where the matrix is updated; an update that adds nothing (alpha = 0 or
/// k = 0) to a matrix times one changes nothing. Types: f32, f64, c64, c128 for symmetric
/// operations, c64 and c128 for Hermitian ones.
namespace troupe::blas {

/// Multiplies by a symmetric matrix: c = alpha · a · b + beta · c (left), or alpha · b · a + beta ·
/// c.
///
/// c and b are [m, n], in the same order; a is [m, m] (left) or [n, n] (right), in any order.
/// Reads c unless beta is zero. Source: BLAS xSYMM.
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

/// Multiplies by a Hermitian matrix: c = alpha · a · b + beta · c (left), or alpha · b · a + beta ·
/// c.
///
/// As `symm`, but a, b and c must all be in the same order. Source: BLAS xHEMM.
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
/// a is [n, k], c is [n, n], updated in triangle `uplo`, each in any order; aᵀ · a is had from
/// `a.transpose()`. The triangle's old content is not read when beta is zero. Source: BLAS xSYRK.
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
/// a is [n, k], c is [n, n], updated in triangle `uplo`; alpha and beta must be real. BLAS takes
/// two cases: a in the order of c with `op::none`, for a · aᴴ; and a in the other order with
/// `op::conjugate`, which, given `a.transpose()` for an a in the order of c, is aᴴ · a.
/// Anything else is `layout_unsupported`. Source: BLAS xHERK.
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
/// a and b are [n, k] in the same order, c is [n, n], updated in triangle `uplo`, in any order.
/// Source: BLAS xSYR2K.
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
/// a and b are [n, k] in the same order, c is [n, n], updated in triangle `uplo`; beta must be
/// real. Orders and `op_ab` as in `herk`. Source: BLAS xHER2K.
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
