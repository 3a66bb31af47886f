#pragma once

#include "libraries/sparse/shared/pattern.hpp"

#include <cstdint>

/// Rows of sparse matrices: `for_each(i, f)` calls `f(k, j)` for the elements of row i, element k
/// of the values in column j. It answers false, and has called `f` for some, where an element has
/// no place in the matrix.
namespace troupe::cpu {

template <class I>
struct stored_rows {
  const I* offsets;
  const I* indices;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t slots;
  std::int64_t block_rows;
  std::int64_t block_columns;
  std::int64_t width;

  [[nodiscard]] bool is_inside(std::int64_t j, std::int64_t extent) const noexcept {
    return static_cast<std::uint64_t>(j) < static_cast<std::uint64_t>(extent);
  }
  /// Whether offsets of row `i` are inside, and cover all slots if those of all rows are.
  [[nodiscard]] bool are_offsets_good(std::int64_t i, std::int64_t majors, std::int64_t& begin,
                                      std::int64_t& end) const noexcept {
    begin = offsets[i];
    end = offsets[i + 1];
    return begin >= 0 && begin <= end && end <= slots && (i > 0 || begin == 0) &&
           (i + 1 < majors || end == slots);
  }
};

/// The rows of a csr matrix, or of the transpose of a csc matrix.
template <class I>
struct compressed_rows : stored_rows<I> {
  /// That offsets say how many elements are before a row.
  static constexpr void is_compressed() noexcept {}
  /// The column of an element some way behind element k, or any: it is not checked. A processor
  /// looks some twenty elements ahead by itself, too few to wait for memory once for many.
  [[nodiscard]] std::uint64_t column_ahead(std::int64_t k) const noexcept {
    constexpr std::int64_t way = 48;
    return static_cast<std::uint64_t>(this->indices[k + way < this->slots ? k + way : k]);
  }
  template <class F>
  [[nodiscard]] bool for_each(std::int64_t i, F f) const {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    if (!this->are_offsets_good(i, this->rows, begin, end)) return false;
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t j = this->indices[k];
      if (!this->is_inside(j, this->columns)) return false;
      f(k, j);
    }
    return true;
  }
};

template <class I>
struct bsr_rows : stored_rows<I> {
  template <class F>
  [[nodiscard]] bool for_each(std::int64_t i, F f) const {
    const std::int64_t r = this->block_rows;
    const std::int64_t c = this->block_columns;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    if (!this->are_offsets_good(i / r, this->rows / r, begin, end)) return false;
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t j = this->indices[k];
      if (!this->is_inside(j, this->columns / c)) return false;
      for (std::int64_t q = 0; q < c; ++q)
        f((k * r + i % r) * c + q, j * c + q);
    }
    return true;
  }
};

template <class I>
struct blocked_ell_rows : stored_rows<I> {
  template <class F>
  [[nodiscard]] bool for_each(std::int64_t i, F f) const {
    const std::int64_t b = this->block_rows;
    for (std::int64_t k = 0; k < this->width; ++k) {
      const std::int64_t j = this->indices[i / b * this->width + k];
      if (j == -1) continue;
      if (!this->is_inside(j, this->columns / b)) return false;
      for (std::int64_t q = 0; q < b; ++q)
        f((i * this->width + k) * b + q, j * b + q);
    }
    return true;
  }
};

template <class I>
struct sliced_ell_rows : stored_rows<I> {
  template <class F>
  [[nodiscard]] bool for_each(std::int64_t i, F f) const {
    const std::int64_t height = this->block_rows;  // rows of a slice
    const std::int64_t slice = i / height;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    const std::int64_t slices = this->rows / height + (this->rows % height != 0 ? 1 : 0);
    if (!this->are_offsets_good(slice, slices, begin, end)) return false;
    for (std::int64_t k = begin + i % height; k < end; k += height) {
      const std::int64_t j = this->indices[k];
      if (j == -1) continue;
      if (!this->is_inside(j, this->columns)) return false;
      f(k, j);
    }
    return true;
  }
};

/// Calls `f` with the rows of a matrix that is not coo.
template <class I, class F>
auto with_rows(const sparse_matrix& a, F f) {
  const sparse::pattern p = sparse::pattern_of(a);
  const bool sliced = a.format == sparse_format::sliced_ell;
  const bool by_columns = a.format == sparse_format::csc;
  const stored_rows<I> rows{.offsets = a.offsets.null() ? nullptr : a.offsets.data<I>(),
                            .indices = a.indices.data<I>(),
                            .rows = by_columns ? a.columns : a.rows,
                            .columns = by_columns ? a.rows : a.columns,
                            .slots = p.slots,
                            .block_rows = sliced ? p.slice_rows : p.block_rows,
                            .block_columns = p.block_columns,
                            .width = p.width};
  switch (a.format) {
    case sparse_format::bsr:
      return f(bsr_rows<I>{rows});
    case sparse_format::blocked_ell:
      return f(blocked_ell_rows<I>{rows});
    case sparse_format::sliced_ell:
      return f(sliced_ell_rows<I>{rows});
    case sparse_format::csr:
    case sparse_format::csc:
    case sparse_format::coo:
      break;
  }
  return f(compressed_rows<I>{rows});
}

}  // namespace troupe::cpu
