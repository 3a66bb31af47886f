#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

#include <string>
#include <string_view>
#include <vector>

/// Sums of products over named dimensions.
///
/// A dimension's name is its *mode*, a letter a–z or A–Z. A list of modes names the dimensions of a
/// tensor, outermost first; spaces are skipped. `"ik,kj->ij"` has a list for each operand and one
/// for the result. A mode that the result lacks is summed over. One that an operand has twice means
/// its diagonal. Extent 1 is repeated where another operand has more, as in NumPy. An ellipsis
/// stands for the dimensions of an operand that have no name, `"...ik,...kj->...ij"`: those of
/// operands are aligned at the last one, and the result has all of them.
namespace troupe::tensors {

/// Contracts two tensors: d = alpha · Σ a · b + beta · c.
///
///     gpu.ask(contract{.modes = "bqhd,bkhd->bhqk", .a = query, .b = key, .d = scores});
///
/// a and b have the modes of the two lists before the arrow, c and d those behind it. Each mode of
/// d is in a or b, and d names none twice. Any strides; d addresses no element twice and is apart
/// from a and b. c may be the same view as d; it is given where beta is not zero, and is otherwise
/// not read. With alpha = 0, or where a mode that is summed has no indices, d = beta · c.
///
/// Types: f32 f64 f16 bf16 c64 c128, one for all tensors. f16 and bf16 are multiplied and added in
/// f32, the others in their own type. On CUDA, sums before the product are rounded to the type of
/// the operands. Or i32 i64, which wrap, with whole numbers as factors: no library multiplies
/// these, so each product takes a step of `elementwise::rows`.
/// \errors `invalid_argument` for modes, with their position; `shape_mismatch`, naming the mode and
/// both extents; `type_mismatch`, `aliasing`; `unsupported` for integers with more than eight modes
struct TROUPE_EXPORT contract {
  static constexpr std::string_view name = "tensors.contract";
  using reply = void;

  std::string modes{};
  any_tensor a{};
  any_tensor b{};
  any_tensor c{};
  any_tensor d{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::math_mode math = blas::math_mode::strict;

  static void describe(description<contract>& d);
};

/// Contracts any number of tensors: d = alpha · Σ operands[0] · operands[1] · …
///
///     gpu.ask(einsum{.modes = "ab,bc,cd->ad", .operands = {x, y, z}, .d = d});
///
/// Two tensors at a time, in the order that takes the fewest operations: the best of all orders for
/// up to eight operands, for more the best next step each time. Intermediates are in the lane's
/// workspace, on CUDA in the type of the operands, on the CPU f16 and bf16 in f32.
///
/// The rest is as in `contract`. One operand is permuted, summed, or its diagonal taken. There are
/// at most 32. \errors also `unsupported` where more than eight operands cannot be contracted
/// through tensors of at most eight dimensions and 2^48 elements
struct TROUPE_EXPORT einsum {
  static constexpr std::string_view name = "tensors.einsum";
  using reply = void;

  static constexpr int most_operands = 32;

  std::string modes{};
  std::vector<any_tensor> operands{};
  any_tensor d{};
  scalar alpha = 1;
  blas::math_mode math = blas::math_mode::strict;

  static void describe(description<einsum>& d);
};

}  // namespace troupe::tensors
