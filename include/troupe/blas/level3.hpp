#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

/// BLAS level 3: products and sums of general matrices.
///
/// A matrix is a rank-2 view with unit stride in one dimension and a leading dimension of at least
/// the other extent; anything else is `errc::layout_unsupported`. An operand that is written must
/// not share elements with one that is read (`errc::aliasing`) unless a request says otherwise.
/// `deterministic` gives the same bits for every run of the same request on the same device.
namespace troupe::blas {

/// Multiplies two matrices: c = alpha · op_a(a) · op_b(b) + beta · c.
///
/// a is [m, k], b is [k, n], c is [m, n]. Reads a and b, and c unless beta is zero (NaNs in the old
/// c then have no effect). With k = 0 or alpha = 0, c = beta · c. Each of a, b and c may be row- or
/// column-major.
///
/// Types of a, b → c: f32, f64, c64, c128; f16 → f16 or f32, bf16 → bf16 or f32, accumulated in
/// f32; i8 → i32, accumulated in i32 modulo 2^32, where alpha and beta must be integers.
/// Errors: `shape_mismatch`, `type_mismatch`, `layout_unsupported`, `aliasing`, and
/// `invalid_argument` for an imaginary alpha or beta of a real type.
/// Source: BLAS xGEMM.
struct TROUPE_EXPORT gemm {
  static constexpr std::string_view name = "blas.gemm";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  any_tensor c{};
  scalar alpha = 1;
  scalar beta = 0;
  op op_a = op::none;
  op op_b = op::none;
  math_mode math = math_mode::strict;
  bool deterministic = false;

  static void describe(description<gemm>& d);
};

/// Adds two matrices: c = alpha · op_a(a) + beta · op_b(b).
///
/// All three are [m, n], each row- or column-major. An operand whose factor is zero is not read. c
/// may be the same view as a or b (in place), but must not overlap them in any other way. Types:
/// f32, f64, c64, c128. Errors: as `gemm`. Source: cuBLAS geam.
struct TROUPE_EXPORT geam {
  static constexpr std::string_view name = "blas.geam";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  any_tensor c{};
  scalar alpha = 1;
  scalar beta = 1;
  op op_a = op::none;
  op op_b = op::none;

  static void describe(description<geam>& d);
};

/// Multiplies by a diagonal matrix: c = a · diag(x) (right) or c = diag(x) · a (left).
///
/// a and c are [m, n] in the same order, x is [n] (right) or [m] (left). c may be the same view as
/// a. Types: f32, f64, c64, c128. Errors: as `gemm`. Source: cuBLAS dgmm.
struct TROUPE_EXPORT dgmm {
  static constexpr std::string_view name = "blas.dgmm";
  using reply = void;

  any_tensor a{};
  any_tensor x{};
  any_tensor c{};
  blas::side side = blas::side::right;

  static void describe(description<dgmm>& d);
};

}  // namespace troupe::blas
