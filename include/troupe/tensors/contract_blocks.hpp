#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::tensors {

/// Contracts two block-sparse tensors: d = alpha · Σ a · b + beta · c.
///
///     gpu.ask(contract_blocks{.modes = "ik,kj->ij",
///                             .section_counts = {2, 1, 1},  // i, k, j
///                             .sections = {3, 5, 4, 6},     // i: 3 and 5, k: 4, j: 6
///                             .a = a, .a_blocks = {1, 0},
///                             .b = b, .b_blocks = {0, 0},
///                             .d = d, .d_blocks = {1, 0}});
///
/// Each mode is divided into sections, and so each tensor into blocks. Blocks that are not stored
/// are zero. Only the blocks of `d_blocks` are computed. Modes are written as in `contract`; a
/// tensor names none twice.
///
/// `section_counts` has the number of sections of each mode, in the order in which `modes` first
/// names them. `sections` has their extents: those of the first mode, of the second, and so on.
/// `a_blocks` has the section of each of a's modes for the first block, for the second, and so on.
/// a has the elements of the blocks in that order, each block row-major, without gaps; b, c and d
/// likewise, c with the blocks of d. A tensor without modes has one block.
///
/// c may be the same view as d; it is given where beta is not zero, and is otherwise not read. d is
/// apart from a and b. Types: f32 f64 c64 c128, one for all tensors.
/// \errors `invalid_argument` for modes, with their position, for sections, for blocks that are
/// outside of the sections or stored twice; `shape_mismatch` for a tensor without as many elements
/// as its blocks; `unsupported` for more than 65 536 products of blocks; `aliasing`
struct TROUPE_EXPORT contract_blocks {
  static constexpr std::string_view name = "tensors.contract_blocks";
  using reply = void;

  std::string modes{};
  std::vector<std::int64_t> section_counts{};
  std::vector<std::int64_t> sections{};
  any_tensor a{};
  std::vector<std::int64_t> a_blocks{};
  any_tensor b{};
  std::vector<std::int64_t> b_blocks{};
  any_tensor c{};
  any_tensor d{};
  std::vector<std::int64_t> d_blocks{};
  scalar alpha = 1;
  scalar beta = 0;
  blas::math_mode math = blas::math_mode::strict;

  static void describe(description<contract_blocks>& d);
};

}  // namespace troupe::tensors
