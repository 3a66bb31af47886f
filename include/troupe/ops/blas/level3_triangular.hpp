#pragma once

#include <troupe/ops/blas/modes.hpp>
#include <troupe/ops/request.hpp>

/// BLAS level 3: products and solves with triangular matrices.
///
/// Rules and errors as in `level3.hpp`. Only triangle `uplo` of a is read, without its diagonal
/// when `diag` is unit. a and b may each be in any order. b is updated in place; with alpha = 0 it
/// becomes zero without being read. Types: f32, f64, c64, c128.
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

  void describe(field_visitor& f);
  [[nodiscard]] result<void> validate() const;
};

/// Solves triangular systems: op_a(a) · x = alpha · b (left), or x · op_a(a) = alpha · b (right).
///
/// b is [m, n] and becomes x; a is [m, m] (left) or [n, n] (right). A zero on the diagonal is not
/// looked for: it gives infinities and NaNs. Source: BLAS xTRSM.
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

  void describe(field_visitor& f);
  [[nodiscard]] result<void> validate() const;
};

}  // namespace troupe::blas
