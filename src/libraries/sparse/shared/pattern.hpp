#pragma once

#include <troupe/sparse/matrix.hpp>

#include <cstdint>

/// The positions of a sparse matrix's elements, as executors of both backends read them. The
/// content of the tensors is not trusted: no function reads outside them.
namespace troupe::sparse {

/// Offsets or indices of either type.
struct index_list {
  const std::int32_t* narrow = nullptr;
  const std::int64_t* wide = nullptr;  ///< if they are i64

  constexpr std::int64_t operator[](std::int64_t i) const noexcept {
    return wide != nullptr ? wide[i] : narrow[i];
  }
};

[[nodiscard]] inline index_list indices_of(const any_tensor& t) noexcept {
  if (t.null()) return {};
  if (t.type() == dtype::i64) return {.wide = t.data<std::int64_t>()};
  return {.narrow = t.data<std::int32_t>()};
}

/// The position of an element.
struct element_place {
  enum class kind : std::uint8_t { element, padding, outside };

  kind what = kind::outside;
  std::int64_t row = 0;
  std::int64_t column = 0;
};

struct pattern {
  sparse_format format = sparse_format::csr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  index_list offsets{};
  index_list row_indices{};
  index_list indices{};
  std::int64_t slots = 0;       ///< indices that there are: one for each element, or for each block
  std::int64_t majors = 0;      ///< what offsets are of: rows, columns, block rows or slices
  std::int64_t block_rows = 1;  ///< rows of a block
  std::int64_t block_columns = 1;  ///< columns of a block
  std::int64_t width = 0;          ///< blocks of a row of blocked_ell
  std::int64_t slice_rows = 1;     ///< of sliced_ell

  /// The bound of a slot's index, and its meaning.
  [[nodiscard]] constexpr std::int64_t minors() const noexcept {
    return format == sparse_format::csc ? rows : columns / block_columns;
  }
  [[nodiscard]] constexpr bool has_padding() const noexcept {
    return format == sparse_format::blocked_ell || format == sparse_format::sliced_ell;
  }
  /// The last m with offsets[m] ≤ `slot`, of those that exist. Precondition: there is one.
  [[nodiscard]] constexpr std::int64_t major_of(std::int64_t slot) const noexcept {
    std::int64_t low = 0;
    std::int64_t high = majors - 1;
    while (low < high) {
      const std::int64_t middle = low + (high - low + 1) / 2;
      if (offsets[middle] <= slot) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }
  /// Whether the offsets say that the slot is `major`'s.
  [[nodiscard]] constexpr bool covers(std::int64_t major, std::int64_t slot) const noexcept {
    const std::int64_t first = offsets[major];
    return first >= 0 && first <= slot && slot < offsets[major + 1];
  }

  /// The position of element `e` of the values.
  [[nodiscard]] constexpr element_place place_of(std::int64_t e) const noexcept {
    using kind = element_place::kind;
    std::int64_t slot = e;
    std::int64_t row_in_block = 0;
    std::int64_t column_in_block = 0;
    std::int64_t major = 0;
    if (format == sparse_format::bsr) {
      const std::int64_t in_block = e % (block_rows * block_columns);
      slot = e / (block_rows * block_columns);
      row_in_block = in_block / block_columns;
      column_in_block = in_block % block_columns;
    } else if (format == sparse_format::blocked_ell) {
      const std::int64_t filled = width * block_columns;
      const std::int64_t row = e / filled;
      major = row / block_rows;
      row_in_block = row % block_rows;
      slot = major * width + e % filled / block_columns;
      column_in_block = e % block_columns;
    }
    const std::int64_t minor = indices[slot];
    if (format == sparse_format::coo) {
      major = row_indices[slot];
      if (major < 0 || major >= rows) return {};
    } else if (format != sparse_format::blocked_ell) {
      if (majors == 0) return {};
      major = major_of(slot);
      if (!covers(major, slot)) return {};
      if (format == sparse_format::sliced_ell) {
        major = major * slice_rows + (slot - offsets[major]) % slice_rows;
        if (major >= rows) return {.what = kind::padding};
      }
    }
    if (has_padding() && minor == -1) return {.what = kind::padding};
    if (minor < 0 || minor >= minors()) return {};
    if (format == sparse_format::csc) return {.what = kind::element, .row = minor, .column = major};
    return {.what = kind::element,
            .row = major * block_rows + row_in_block,
            .column = minor * block_columns + column_in_block};
  }
};

[[nodiscard]] inline pattern pattern_of(const sparse_matrix& a) noexcept {
  pattern p{.format = a.format,
            .rows = a.rows,
            .columns = a.columns,
            .offsets = indices_of(a.offsets),
            .row_indices = indices_of(a.row_indices),
            .indices = indices_of(a.indices),
            .slots = a.indices.count(),
            .majors = a.offsets.null() ? 0 : a.offsets.extent(0) - 1};
  if (a.format == sparse_format::bsr) {
    p.block_rows = a.values.extent(1);
    p.block_columns = a.values.extent(2);
  } else if (a.format == sparse_format::blocked_ell && a.rows > 0) {
    p.width = a.indices.extent(1);
    p.block_rows = p.block_columns = a.rows / a.indices.extent(0);
  } else if (a.format == sparse_format::sliced_ell) {
    p.slice_rows = a.slice_rows;
  }
  return p;
}

}  // namespace troupe::sparse
