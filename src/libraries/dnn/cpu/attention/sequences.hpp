#pragma once

#include "libraries/dnn/shared/attention_masks.hpp"

#include <troupe/base/result.hpp>

#include <cstdint>
#include <vector>

namespace troupe::cpu::attention {

/// Rows of all heads of one sequence, in a tensor of whatever layout.
struct sequence_rows {
  dtype type{};
  std::byte* first = nullptr;
  std::int64_t head_step = 0;  ///< in bytes
  std::int64_t row_step = 0;   ///< in bytes
  std::int64_t stride = 0;     ///< of a row's elements, in elements
  // Pages: row j is row j mod page_size of page table[j / page_size].
  const std::int32_t* table = nullptr;
  std::int64_t table_step = 0;  ///< in elements
  std::int64_t page_size = 1;
  std::int64_t page_step = 0;  ///< in bytes

  [[nodiscard]] std::byte* row(std::int64_t head, std::int64_t i) const noexcept {
    std::byte* const of_head = first + head * head_step;
    if (table == nullptr) return of_head + i * row_step;
    return of_head + table[i / page_size * table_step] * page_step + i % page_size * row_step;
  }
  /// True if row i + 1 is always `row_step` after row i.
  [[nodiscard]] bool even() const noexcept { return table == nullptr; }
};

/// A tensor of queries, keys, values or results, as all sequences see it.
struct layout_of_sequences {
  const any_tensor* view = nullptr;
  bool packed = false;
  const any_tensor* offsets = nullptr;
  const any_tensor* table = nullptr;

  [[nodiscard]] sequence_rows of(std::int64_t sequence) const noexcept;
  /// \errors `invalid_argument` for a sequence of `length` rows that is not within the tensor
  [[nodiscard]] result<void> check(std::string_view name, std::string_view lengths_name,
                                   std::int64_t sequence, std::int64_t length) const;
};

/// The lengths of all sequences, checked. Without lengths in the request, each has the whole
/// length.
struct sequence_lengths {
  std::vector<std::int64_t> queries{};
  std::vector<std::int64_t> keys{};
};

template <dnn::attention_request R>
[[nodiscard]] layout_of_sequences queries_of(const R& r, const any_tensor& like_q) noexcept {
  return {.view = &like_q, .packed = dnn::packs_queries(r), .offsets = &r.packed.offsets_q};
}
template <dnn::attention_request R>
[[nodiscard]] layout_of_sequences results_of(const R& r, const any_tensor& like_o) noexcept {
  return {.view = &like_o, .packed = dnn::packs_queries(r), .offsets = &r.packed.offsets_o};
}
template <dnn::attention_request R>
[[nodiscard]] layout_of_sequences keys_of(const R& r, const any_tensor& like_k) noexcept {
  layout_of_sequences made{
      .view = &like_k, .packed = dnn::packs_keys(r), .offsets = &r.packed.offsets_k};
  if constexpr (std::same_as<R, dnn::attention_forward>) {
    if (dnn::has_pages(r)) made.table = &r.pages.k;
  }
  return made;
}
template <dnn::attention_request R>
[[nodiscard]] layout_of_sequences values_of(const R& r, const any_tensor& like_v) noexcept {
  layout_of_sequences made{
      .view = &like_v, .packed = dnn::packs_keys(r), .offsets = &r.packed.offsets_v};
  if constexpr (std::same_as<R, dnn::attention_forward>) {
    if (dnn::has_pages(r)) made.table = &r.pages.v;
  }
  return made;
}

/// Reads the lengths, and checks them and all that offsets and tables point to.
/// \errors `invalid_argument`, naming the fault
template <dnn::attention_request R>
[[nodiscard]] result<sequence_lengths> read_lengths(const R& r);
extern template result<sequence_lengths> read_lengths(const dnn::attention_forward& r);
extern template result<sequence_lengths> read_lengths(const dnn::attention_backward& r);

using dnn::band;
using dnn::key_range;

template <dnn::attention_request R>
[[nodiscard]] band band_of(const R& r, std::int64_t queries, std::int64_t keys) noexcept {
  return {.keys = keys,
          .left = r.mask.left,
          .right = r.mask.right,
          .shift = r.mask.diagonal == dnn::diagonal::bottom_right ? keys - queries : 0};
}

}  // namespace troupe::cpu::attention
