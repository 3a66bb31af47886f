#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

/// BLAS level 3: products and solves with triangular matrices, and a product into a triangle.
///
/// Rules and errors as in `level3.hpp`. Only triangle `uplo` of a triangular matrix a is read,
/// without the diagonal if `diag` is unit. a and b may each have any storage order. b is updated in
/// place; with alpha = 0 it becomes zero without being read. Types: f32, f64, c64, c128.
namespace troupe::blas {

/// Multiplies by a triangular matrix: b = alpha · op_a(a) · b (left), or alpha · b · op_a(a)
/// (right).
///
/// b is [m, n]; a is [m, m] (left) or [n, n] (right). Source: BLAS xTRMM.
struct TROUPE_EXPORT trmm {
  static constexpr std::string_view name = "blas.trmm";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  scalar alpha = 1;
  blas::side side = blas::side::left;
  blas::uplo uplo = blas::uplo::upper;
  blas::diag diag = blas::diag::non_unit;
  op op_a = op::none;
  math_mode math = math_mode::strict;
  bool deterministic = false;

  static void describe(description<trmm>& d);
};

/// Solves triangular systems: op_a(a) · x = alpha · b (left), or x · op_a(a) = alpha · b (right).
///
/// b is [m, n] and becomes x; a is [m, m] (left) or [n, n] (right). A zero on the diagonal is not
/// detected; it gives infinities and NaNs. Source: BLAS xTRSM.
struct TROUPE_EXPORT trsm {
  static constexpr std::string_view name = "blas.trsm";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  scalar alpha = 1;
  blas::side side = blas::side::left;
  blas::uplo uplo = blas::uplo::upper;
  blas::diag diag = blas::diag::non_unit;
  op op_a = op::none;
  math_mode math = math_mode::strict;
  bool deterministic = false;

  static void describe(description<trsm>& d);
};

/// Multiplies two matrices into one triangle: c = alpha · op_a(a) · op_b(b) + beta · c.
///
/// a is [n, k], b is [k, n]; c is [n, n], updated in triangle `uplo`; the other triangle is neither
/// read nor written. Use it for products known to be symmetric, such as a · d · aᵀ with a symmetric
/// d. Each of a, b and c may have any storage order. The triangle's old content is not read if beta
/// is zero. Source: LAPACK 3.12 xGEMMTR, OpenBLAS xGEMMT.
struct TROUPE_EXPORT gemmt {
  static constexpr std::string_view name = "blas.gemmt";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  any_tensor c{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::uplo uplo = blas::uplo::upper;
  op op_a = op::none;
  op op_b = op::none;
  math_mode math = math_mode::strict;
  bool deterministic = false;

  static void describe(description<gemmt>& d);
};

}  // namespace troupe::blas
