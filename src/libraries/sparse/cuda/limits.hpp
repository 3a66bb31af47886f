#pragma once

#include "libraries/sparse/requests/structured_stamp.hpp"
#include "request/vendor_limit.hpp"

#include <troupe/sparse/matrix.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

/// The cases that cuSPARSE and cuSPARSELt are given.
namespace troupe::limits::cusparse {

inline constexpr vendor_limit elements{
    .name = "sparse.elements",
    .library = "cuSPARSE",
    .from = "12.6",
    .condition = "a matrix stores no more elements than it has places",
    .evidence = "it refuses others: 12.6, H100, 2026-11-25",
    .test = "SparseSpmv.MultipliesMoreElementsThanPlaces"};
inline constexpr vendor_limit padded_formats{
    .name = "sparse.padded_formats",
    .library = "cuSPARSE",
    .from = "12.6",
    .condition = "no product is of blocked_ell or sliced_ell",
    .evidence =
        "NaN and sums of tf32 for blocked_ell, and columns of sliced_ell are not checked: "
        "12.6, H100, 2026-11-25",
    .test = "SparseSp*.MultipliesEveryFormat*",
    .can_be_lifted = false};
inline constexpr vendor_limit blocks{
    .name = "sparse.blocks",
    .library = "cuSPARSE",
    .from = "12.6",
    .condition = "blocks of bsr are square",
    .evidence = "cuSPARSE documentation, cusparseSpMM and cusparseSpMV",
    .test = "SparseSp*.MultipliesEveryFormat*"};
inline constexpr vendor_limit narrow_results{
    .name = "sparse.narrow_results",
    .library = "cuSPARSE",
    .from = "12.6",
    .condition = "results of f16 and bf16 of csr, csc and coo are vectors",
    .evidence = "with csr it writes beside those that are matrices: 12.6, H100, 2026-11-25",
    .test = "SparseSpmm.*"};
inline constexpr vendor_limit alignment{
    .name = "sparse.alignment",
    .library = "cuSPARSE",
    .from = "12.6",
    .condition = "all operands begin at multiples of 16 bytes",
    .evidence =
        "it loads 16 bytes at once from where they begin, seen with coo: 12.6, H100, "
        "2026-11-25",
    .test = "SparseSp*.MultipliesEveryFormat*:SparseSpmm.TakesEveryLayout"};

[[nodiscard]] inline bool is_aligned(const any_tensor& t) noexcept {
  return reinterpret_cast<std::uintptr_t>(t.address()) % 16 == 0;
}
[[nodiscard]] inline bool has_square_blocks(const sparse_matrix& a) noexcept {
  return a.format == sparse_format::bsr && a.values.extent(1) == a.values.extent(2);
}
/// True if cuSPARSE takes the product a · in, of a vector or a matrix.
[[nodiscard]] inline bool accepts_product(const sparse_matrix& a, const any_tensor& in,
                                          const any_tensor& out) noexcept {
  if ((a.columns == 0 || (a.stored() - 1) / a.columns >= a.rows) && !is_lifted<elements>())
    return false;
  if (a.format == sparse_format::blocked_ell || a.format == sparse_format::sliced_ell) return false;
  if (a.format == sparse_format::bsr && !has_square_blocks(a) && !is_lifted<blocks>()) return false;
  if (a.format <= sparse_format::coo && out.rank() == 2 && size_of(out.type()) == 2 &&
      !is_lifted<narrow_results>())
    return false;
  return (is_aligned(a.offsets) && is_aligned(a.row_indices) && is_aligned(a.indices) &&
          is_aligned(a.values) && is_aligned(in) && is_aligned(out)) ||
         is_lifted<alignment>();
}

inline constexpr vendor_limit structured_extents{
    .name = "sparse.structured_extents",
    .library = "cuSPARSELt",
    .from = "0.8",
    .condition =
        "extents and leading dimensions are multiples of 32 bytes for 2:4 weights and of "
        "16 for other matrices, of 8-bit types twice that many elements; all begin at "
        "multiples of 16 bytes",
    .evidence = "it refuses others: 0.8, H100, 2026-11-25",
    .test = "SparseStructured.TakesEveryShape"};
/// True if cuSPARSELt takes a matrix with these extents and leading dimension, at `first`.
[[nodiscard]] inline bool accepts_structured(std::initializer_list<std::int64_t> extents,
                                             dtype type, bool weights, const void* first) noexcept {
  const std::int64_t unit = (weights ? 32 : 16) / std::min<std::int64_t>(size_of(type), 2);
  return (std::ranges::all_of(extents, [&](std::int64_t e) { return e % unit == 0; }) &&
          reinterpret_cast<std::uintptr_t>(first) % sparse::structured_alignment == 0) ||
         is_lifted<structured_extents>();
}

inline constexpr vendor_limit structured_kernels{
    .name = "sparse.structured_kernels",
    .library = "cuSPARSELt",
    .from = "0.8",
    .condition =
        "kernels are measured for products in bf16 without epilogue whose extents are "
        "multiples of 128 and at least 2048; others take what it proposes",
    .evidence =
        "some kernels end with an illegal instruction in other products, among them f16 "
        "with 1024 · 1056 · 1024: 0.8, H100, 2026-11-25",
    .test = "SparseStructured.M*:SparseStructured.T*:SparseStructured.IsTheSame*"};
[[nodiscard]] inline bool accepts_measuring(std::initializer_list<std::int64_t> extents,
                                            dtype result, bool has_epilogue) noexcept {
  constexpr std::int64_t least = 2048;
  constexpr std::int64_t unit = 128;
  return (result == dtype::bf16 && !has_epilogue &&
          std::ranges::all_of(extents,
                              [](std::int64_t e) { return e >= least && e % unit == 0; })) ||
         is_lifted<structured_kernels>();
}

inline constexpr std::array all{elements,          padded_formats, blocks,
                                narrow_results,    alignment,      structured_extents,
                                structured_kernels};

}  // namespace troupe::limits::cusparse
