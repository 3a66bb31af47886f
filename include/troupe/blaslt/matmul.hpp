#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/blaslt/modes.hpp>
#include <troupe/request/request.hpp>

/// Matrix products with an epilogue in the same pass.
namespace troupe::blaslt {

/// Multiplies two matrices and applies an epilogue:
/// d = epilogue(alpha · op_a(a) · op_b(b) + beta · c).
///
/// a is [m, k], b is [k, n], c and d are [m, n]; or all have an additional first extent that counts
/// products (in operands that are read its stride may be 0). Each matrix has unit stride in one
/// dimension and any leading dimension in the other; c has d's storage order. If an extent of d is
/// one, d has both orders; the one that suits the rest of the request is taken. `c` is given if and
/// only if beta is not zero, and may be the same view as d.
///
/// Types of a, b → d, with c of d's type: f64; f32, with `math`; f16, bf16 → the same or f32; c64,
/// c128; i8 → i32 (alpha and beta integers, sums modulo 2³²), i8 (rounded to nearest even,
/// saturated), f32; e4m3 and e5m2, not e5m2 twice → f16, bf16, f32, and where c is f16 or bf16 also
/// e4m3, and e5m2 where it is one of the operands. All is computed in f32, or a wider type where an
/// operand is; results in e4m3 and e5m2 saturate. Some of cuBLASLt's kernels round to the type of a
/// bias of 16 bits before they add it.
///
/// Epilogues: all for f64, f32, f16, bf16; for fp8 those of docs/libraries/blaslt.md; for i8 → i8
/// those without aux and gradients; otherwise `none`. Exactly the operands of the epilogue are
/// given:
/// - `bias` [n], or [batch, n], contiguous; d row-major. In d's type, for i8 in f32, for fp8 in
///   bf16, or in c's type where that is f16.
/// - `aux` of relu: u8, in d's order, the extent of d's contiguous dimension, p, replaced by
///   16 · ⌈p/128⌉ bytes: bit p mod 8 of byte p/8 says that the element was positive. Leading
///   dimension and distance of matrices are multiples of 16. Bits beyond p are zero or not.
/// - `aux` of gelu: d's extents, order and type (where d is fp8: c's),
///   leading dimension and distance multiples of 8.
/// - `bgrad`: for `drelu_bgrad` and `dgelu_bgrad` as `bias`; for `bgrad_a` [m], a column-major; for
///   `bgrad_b` [n], b row-major; all with [batch, …] for several products, contiguous.
///
/// Scales are for fp8 alone, f32: x = alpha · scale_a · scale_b · a · b + beta · scale_c · c, and d
/// = scale_d · epilogue(x) where d is fp8. An operand that is not given is 1. `scaling_a` and
/// `scaling_b` say what `scale_a` and `scale_b` hold: both a factor for the `tensor` (one element);
/// both an `outer_vector`; or one of them `block_128` and the other that or `block_128x128`, whose
/// contiguous rows are ⌈k/128⌉ rounded up to 4 apart. `amax_d` receives the largest magnitude
/// before scale_d: f32, one element.
///
/// Both backends enforce cuBLASLt's own rules (`unsupported`). k must not be 0. i8 → i32 and i8 →
/// i8: a row-major, b column-major (k contiguous in both); k, d's contiguous extent, leading
/// dimensions and addresses must be multiples of 4. fp8: the same with multiples of 16, leading
/// dimensions in bytes. `drelu` needs k above 1. c64, c128: a conjugated factor must have the
/// storage order opposite to d's.
///
/// `tuning` and `candidates` (1 to 64) apply to a GPU. `timed` runs the candidates for the first
/// request of a kind, which waits for its lane meanwhile, and stores the choice, also on disk.
/// `fast_accumulation` permits fp8 sums to stay in the tensor cores' short accumulators.
///
/// \errors `shape_mismatch`, `type_mismatch`, `layout_unsupported`, `aliasing`; `invalid_argument`
/// for a missing or superfluous operand and for unsuitable factors; `unsupported` if a rule of
/// cuBLASLt is violated or, on a GPU, if it has no kernel for the request. Source: cuBLAS
/// documentation, cublasLtMatmul.
struct TROUPE_EXPORT matmul {
  static constexpr std::string_view name = "blaslt.matmul";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  any_tensor c{};
  any_tensor d{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::op op_a = blas::op::none;
  blas::op op_b = blas::op::none;
  blaslt::epilogue epilogue = blaslt::epilogue::none;
  any_tensor bias{};
  any_tensor aux{};
  any_tensor bgrad{};
  any_tensor scale_a{};
  any_tensor scale_b{};
  any_tensor scale_c{};
  any_tensor scale_d{};
  scaling scaling_a = scaling::tensor;
  scaling scaling_b = scaling::tensor;
  any_tensor amax_d{};
  blas::math_mode math = blas::math_mode::strict;
  bool fast_accumulation = false;
  blaslt::tuning tuning = blaslt::tuning::heuristic;
  std::int64_t candidates = 8;

  static void describe(description<matmul>& d);
};

}  // namespace troupe::blaslt
