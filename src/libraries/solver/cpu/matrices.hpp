#pragma once

#include "libraries/blas/openblas/openblas.hpp"

#include <troupe/tensor/tensor.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace troupe::cpu {

/// One matrix of a batch, with any strides.
template <class T>
struct matrix_view {
  T* at = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 1;
  std::int64_t column_stride = 1;

  [[nodiscard]] T& operator()(std::int64_t i, std::int64_t j) const {
    return at[i * row_stride + j * column_stride];
  }
  [[nodiscard]] matrix_view transposed() const {
    return {at, columns, rows, column_stride, row_stride};
  }
  /// The first columns.
  [[nodiscard]] matrix_view first(std::int64_t count) const {
    matrix_view part = *this;
    part.columns = count;
    return part;
  }
  [[nodiscard]] bool empty() const { return rows == 0 || columns == 0; }
  /// The leading dimension of a column-major matrix; 0 for any other.
  [[nodiscard]] std::int64_t ld() const {
    const std::int64_t least = std::max<std::int64_t>(rows, 1);
    if (empty()) return least;
    if (rows > 1 && row_stride != 1) return 0;
    if (columns == 1) return least;
    return column_stride >= least ? column_stride : 0;
  }
};

/// A column-major matrix at `at`, without gaps.
template <class T>
[[nodiscard]] matrix_view<T> column_major(T* at, std::int64_t rows, std::int64_t columns) {
  return {at, rows, columns, 1, std::max<std::int64_t>(rows, 1)};
}

/// How many matrices (`own` = 2), vectors (1) or numbers (0) a tensor has.
[[nodiscard]] inline std::int64_t batch_count(const any_tensor& t, int own = 2) {
  std::int64_t count = 1;
  for (int d = 0; d < t.rank() - own; ++d)
    count *= t.extent(d);
  return count;
}

/// The `i`-th matrix of a tensor, in row-major order of the batch.
template <class T>
[[nodiscard]] matrix_view<T> matrix_of(const any_tensor& t, std::int64_t i) {
  const int rank = t.rank();
  std::int64_t offset = 0;
  for (int d = rank - 3; d >= 0; --d) {
    offset += i % t.extent(d) * t.stride(d);
    i /= t.extent(d);
  }
  return {t.data<T>() + offset, t.extent(rank - 2), t.extent(rank - 1), t.stride(rank - 2),
          t.stride(rank - 1)};
}

/// The `i`-th vector of a packed tensor.
template <class T>
[[nodiscard]] T* vector_of(const any_tensor& t, std::int64_t i) {
  return t.data<T>() + i * t.extent(t.rank() - 1);
}

/// Copies in tiles, so that neither side is read or written against the grain for long.
template <class T>
void copy_matrix(const matrix_view<T>& from, const matrix_view<T>& to) {
  if (from.row_stride == 1 && to.row_stride == 1) {
    for (std::int64_t j = 0; j < to.columns; ++j)
      std::copy_n(&from(0, j), to.rows, &to(0, j));
    return;
  }
  if (from.column_stride == 1 && to.column_stride == 1) {
    copy_matrix(from.transposed(), to.transposed());
    return;
  }
  constexpr std::int64_t tile = 16;
  for (std::int64_t first_column = 0; first_column < to.columns; first_column += tile) {
    const std::int64_t last_column = std::min(first_column + tile, to.columns);
    for (std::int64_t first_row = 0; first_row < to.rows; first_row += tile) {
      const std::int64_t last_row = std::min(first_row + tile, to.rows);
      for (std::int64_t j = first_column; j < last_column; ++j) {
        for (std::int64_t i = first_row; i < last_row; ++i)
          to(i, j) = from(i, j);
      }
    }
  }
}

/// The rows of a triangle in column `j`: [first, last).
struct row_range {
  std::int64_t first;
  std::int64_t last;
};
[[nodiscard]] inline row_range rows_in(blas::uplo uplo, std::int64_t n, std::int64_t j) {
  return uplo == blas::uplo::upper ? row_range{0, j + 1} : row_range{j, n};
}

/// Copies one triangle of a square matrix, with its diagonal.
template <class T>
void copy_triangle(blas::uplo uplo, const matrix_view<T>& from, const matrix_view<T>& to) {
  const bool by_columns = from.row_stride == 1 && to.row_stride == 1;
  for (std::int64_t j = 0; j < to.columns; ++j) {
    const row_range rows = rows_in(uplo, to.rows, j);
    if (by_columns) {
      std::copy_n(&from(rows.first, j), rows.last - rows.first, &to(rows.first, j));
      continue;
    }
    for (std::int64_t i = rows.first; i < rows.last; ++i)
      to(i, j) = from(i, j);
  }
}

/// Sets the other triangle to zero, without the diagonal.
template <class T>
void clear_beside(blas::uplo uplo, const matrix_view<T>& a) {
  for (std::int64_t j = 0; j < a.columns; ++j) {
    const row_range rows = rows_in(uplo, a.rows, j);
    if (a.row_stride == 1) {
      std::fill_n(a.at + j * a.column_stride, rows.first, T{});
      std::fill_n(a.at + j * a.column_stride + rows.last, a.rows - rows.last, T{});
      continue;
    }
    for (std::int64_t i = 0; i < rows.first; ++i)
      a(i, j) = T{};
    for (std::int64_t i = rows.last; i < a.rows; ++i)
      a(i, j) = T{};
  }
}

/// Sets the imaginary parts of the diagonal to zero: the diagonal of a Hermitian matrix counts as
/// real.
template <class T>
void make_diagonal_real(const matrix_view<T>& a) {
  if constexpr (complex_v<T>) {
    for (std::int64_t j = 0; j < a.columns; ++j)
      a(j, j) = a(j, j).real();
  }
}

/// Makes a Hermitian matrix of one triangle.
template <class T>
void mirror(blas::uplo uplo, const matrix_view<T>& a) {
  for (std::int64_t j = 0; j < a.columns; ++j) {
    const row_range rows = rows_in(uplo, a.rows, j);
    for (std::int64_t i = rows.first; i < rows.last; ++i) {
      if (i != j) a(j, i) = conjugate(a(i, j));
    }
  }
}

/// False where an element is infinite or no number.
template <class T>
[[nodiscard]] bool is_finite(const T* at, std::int64_t count) {
  // Infinities and NaNs give NaN here, and that stays. In lanes, as a vector.
  constexpr std::int64_t lanes = 8;
  std::array<real_t<T>, lanes> sums{};
  const auto* const numbers = reinterpret_cast<const real_t<T>*>(at);
  const std::int64_t all = count * (complex_v<T> ? 2 : 1);
  std::int64_t i = 0;
  for (; i + lanes <= all; i += lanes) {
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      sums[static_cast<std::size_t>(lane)] += numbers[i + lane] * 0;
  }
  for (; i < all; ++i)
    sums[0] += numbers[i] * 0;
  return std::ranges::all_of(sums, [](real_t<T> sum) { return sum == 0; });
}
template <class T>
[[nodiscard]] bool is_finite(const matrix_view<T>& column_major_matrix) {
  for (std::int64_t j = 0; j < column_major_matrix.columns; ++j) {
    if (!is_finite(&column_major_matrix(0, j), column_major_matrix.rows)) return false;
  }
  return true;
}
template <class T>
[[nodiscard]] bool is_finite(blas::uplo uplo, const matrix_view<T>& column_major_matrix) {
  for (std::int64_t j = 0; j < column_major_matrix.columns; ++j) {
    const row_range rows = rows_in(uplo, column_major_matrix.rows, j);
    if (!is_finite(&column_major_matrix(rows.first, j), rows.last - rows.first)) return false;
  }
  return true;
}

}  // namespace troupe::cpu
