#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

#include <vector>

/// Batches of small BLAS problems in one request.
///
/// A batch is a rank-3 view whose first dimension counts the problems, or a list of rank-2 views.
/// Matrices and vectors in a batch follow the rules of `level2.hpp` and `level3.hpp`, with the same
/// errors. In a rank-3 view the first dimension may have any stride; with stride 0 all problems
/// read the same operand. Types: those of `gemm` for products, else f32, f64, c64, c128.
namespace troupe::blas {

/// Multiplies matrices at constant distances: cᵢ = alpha · op_a(aᵢ) · op_b(bᵢ) + beta · cᵢ.
///
/// a is [batch, m, k], b is [batch, k, n], c is [batch, m, n]. Reads c unless beta is zero. Source:
/// cuBLAS gemmStridedBatched.
struct TROUPE_EXPORT gemm_strided_batched {
  static constexpr std::string_view name = "blas.gemm_strided_batched";
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

  static void describe(description<gemm_strided_batched>& d);
};

/// Multiplies matrices at any addresses: cᵢ = alpha · op_a(aᵢ) · op_b(bᵢ) + beta · cᵢ.
///
/// a, b and c are lists of the same length. All members of a list have the same extents, type and
/// strides. No c shares elements with any other operand; an a or b may occur more than once.
/// Source: cuBLAS gemmBatched.
struct TROUPE_EXPORT gemm_batched {
  static constexpr std::string_view name = "blas.gemm_batched";
  using reply = void;

  std::vector<any_tensor> a{};
  std::vector<any_tensor> b{};
  std::vector<any_tensor> c{};
  scalar alpha = 1;
  scalar beta = 0;
  op op_a = op::none;
  op op_b = op::none;
  math_mode math = math_mode::strict;
  bool deterministic = false;

  static void describe(description<gemm_batched>& d);
};

/// Multiplies matrices of different sizes: cᵢ = alphaᵢ · op_a(aᵢ) · op_b(bᵢ) + betaᵢ · cᵢ.
///
/// a, b and c are lists of the same length. Members may differ in extents and strides, but not in
/// type. `alpha` and `beta` have one factor per problem, or one for all; empty means 1 and 0. No c
/// shares elements with any other operand. The old content of c counts as read unless every beta is
/// zero. Source: cuBLAS gemmGroupedBatched.
struct TROUPE_EXPORT gemm_grouped {
  static constexpr std::string_view name = "blas.gemm_grouped";
  using reply = void;

  std::vector<any_tensor> a{};
  std::vector<any_tensor> b{};
  std::vector<any_tensor> c{};
  std::vector<scalar> alpha{};
  std::vector<scalar> beta{};
  op op_a = op::none;
  op op_b = op::none;
  math_mode math = math_mode::strict;
  bool deterministic = false;

  static void describe(description<gemm_grouped>& d);
};

/// Multiplies matrices and vectors: yᵢ = alpha · op_a(aᵢ) · xᵢ + beta · yᵢ.
///
/// a is [batch, m, n], x is [batch, n], y is [batch, m]. Reads y unless beta is zero.
/// Source: cuBLAS gemvStridedBatched.
struct TROUPE_EXPORT gemv_batched {
  static constexpr std::string_view name = "blas.gemv_batched";
  using reply = void;

  any_tensor a{};
  any_tensor x{};
  any_tensor y{};
  scalar alpha = 1;
  scalar beta = 0;
  op op_a = op::none;

  static void describe(description<gemv_batched>& d);
};

/// Solves triangular systems: op_a(aᵢ) · xᵢ = alpha · bᵢ (left), or xᵢ · op_a(aᵢ) = alpha · bᵢ.
///
/// b is [batch, m, n] and becomes x; a is [batch, m, m] (left) or [batch, n, n] (right). Other
/// rules as `trsm`. Source: cuBLAS trsmBatched.
struct TROUPE_EXPORT trsm_batched {
  static constexpr std::string_view name = "blas.trsm_batched";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  scalar alpha = 1;
  blas::side side = blas::side::left;
  blas::uplo uplo = blas::uplo::upper;
  blas::diag diag = blas::diag::non_unit;
  op op_a = op::none;
  bool deterministic = false;

  static void describe(description<trsm_batched>& d);
};

}  // namespace troupe::blas
