#pragma once

#include <troupe/blaslt/modes.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>

/// 2:4 structured sparsity: each four consecutive elements of a row, beginning at a multiple of
/// four, have at most two that are not zero. Tensor cores multiply such weights at up to twice the
/// speed.
///
/// The weights are a plain matrix, x [n, k], that `structured_prune` makes and that any other
/// request can read. `structured_compress` fills a tensor of bytes with the GPU library's
/// compressed form: a cache, so that products need not compute it again. Elements are f16, bf16, i8
/// or e4m3; x has unit stride in one dimension. k is a multiple of four.
namespace troupe::sparse {

/// Bytes of what `structured_compress` makes of weights [n, k] of a type of 1 or 2 bytes.
[[nodiscard]] constexpr std::int64_t structured_bytes(std::int64_t n, std::int64_t k,
                                                      std::int64_t element_bytes) noexcept {
  constexpr std::int64_t tile = 64;
  const std::int64_t rows = (n + tile - 1) / tile * tile;
  const std::int64_t columns = (k + tile - 1) / tile * tile;
  // A stamp; half of the elements; two bits for the place of each.
  return 256 + n * k / 2 * element_bytes + rows * columns / 8;
}

/// Sets all but the two elements of largest magnitude of each four to zero. If several are equal,
/// the earlier one is kept; NaN is larger than any number.
///
/// y may be x itself.
struct TROUPE_EXPORT structured_prune {
  static constexpr std::string_view name = "sparse.structured_prune";
  using reply = void;

  any_tensor x{};
  any_tensor y{};

  static void describe(description<structured_prune>& d);
};

/// Fails with `invalid_argument` if a matrix is not 2:4; the message names the first four, in
/// row-major order, of which more than two are not zero.
struct TROUPE_EXPORT structured_check {
  static constexpr std::string_view name = "sparse.structured_check";
  using reply = void;

  any_tensor x{};

  static void describe(description<structured_check>& d);
};

/// Compresses weights for products that read them many times.
///
/// `compressed` is u8 [structured_bytes(n, k, bytes of an element)], packed, and begins at a
/// multiple of 16 bytes. Its content is private to the library that made it, cuSPARSELt of one
/// version, and to x's extents, strides and type: `structured_matmul` checks that it fits. It stays
/// valid when a worker is replaced, and must be made again when x is written. If nothing is
/// compressed, as on the CPU, and on a GPU without cuSPARSELt or for weights that it does not take,
/// it only records that x has been checked.
///
/// \errors `invalid_argument`, found when it runs, if x is not 2:4, as `structured_check`;
/// `compressed` is then unspecified. Source: cuSPARSELt documentation, cusparseLtSpMMACompress2.
struct TROUPE_EXPORT structured_compress {
  static constexpr std::string_view name = "sparse.structured_compress";
  using reply = void;

  any_tensor x{};
  any_tensor compressed{};

  static void describe(description<structured_compress>& d);
};

/// Multiplies by 2:4 weights and applies an epilogue: d = epilogue(alpha · a · b + beta · c), where
/// b is the transposed view of the weights: `b = x.transpose()`.
///
/// All is as in `blaslt::matmul` with matrices: a [m, k], b [k, n], c and d [m, n]; `c` is given if
/// and only if beta is not zero, and may be the same view as d; `bias` [n], contiguous, d
/// row-major. Types of a and b → d, with c of d's type: f16 → f16, f32; bf16 → bf16, f32; i8 → i8
/// (rounded, saturated), i32 (alpha and beta integers); e4m3 → f16, bf16, f32. `bias` is of d's
/// type, for i8 in f32, for e4m3 → f32 in bf16. Sums are f32, or integers for i8; for i8 → i32 a
/// GPU rounds them to f32 before it applies alpha, so they are exact up to 2²⁴. i8 and e4m3: k
/// contiguous in a and b; k, d's contiguous extent, leading dimensions in bytes and addresses
/// multiples of 4 and 16.
///
/// Epilogues: none, bias, relu, relu_bias, gelu, gelu_bias; for i8 → i32 none.
///
/// `compressed` is what `structured_compress` has made of the weights; b must be the same as then.
/// Which of the two is read is not said: on the CPU it is b, on a GPU `compressed` where cuSPARSELt
/// takes the product. Without it b is checked, and multiplied as the plain matrix that it is.
///
/// `tuning` applies to a GPU. `timed` runs the library's kernels for the first request of a kind
/// whose result is bf16, without an epilogue, and whose extents are multiples of 128 and at least
/// 2 048; it waits for its lane meanwhile, and keeps the choice, also on disk. All others take the
/// library's own proposal, which may be slower than a dense product.
///
/// \errors those of `blaslt::matmul`; when it runs, `invalid_argument` if `compressed` is of other
/// weights or another version of the library, or, without it, if b is not 2:4; d is then
/// unspecified. Source: cuSPARSELt documentation, cusparseLtMatmul.
struct TROUPE_EXPORT structured_matmul {
  static constexpr std::string_view name = "sparse.structured_matmul";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  any_tensor compressed{};
  any_tensor c{};
  any_tensor d{};
  scalar alpha = 1;
  scalar beta = 0;
  blaslt::epilogue epilogue = blaslt::epilogue::none;
  any_tensor bias{};
  blaslt::tuning tuning = blaslt::tuning::timed;

  static void describe(description<structured_matmul>& d);
};

}  // namespace troupe::sparse
