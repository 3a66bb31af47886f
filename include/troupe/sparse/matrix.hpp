#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/description.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstdint>

namespace troupe {

/// How the elements of a sparse matrix are stored. Offsets and indices count from 0.
enum class sparse_format : std::uint8_t {
  /// Compressed rows. Row i has the elements k with offsets[i] ≤ k < offsets[i + 1], in columns
  /// indices[k]. offsets [rows + 1], indices [nnz], values [nnz].
  csr,
  /// Compressed columns: the same with rows and columns exchanged. offsets [columns + 1].
  csc,
  /// Coordinates: element k is in row row_indices[k] and column indices[k]. Rows ascend.
  /// row_indices [nnz], indices [nnz], values [nnz].
  coo,
  /// Compressed rows of r × c blocks, which are stored row by row. offsets [rows / r + 1],
  /// indices [blocks], values [blocks, r, c].
  bsr,
  /// Rows of b × b blocks that all have the same number, `width`, of blocks. Block k of block row i
  /// is in block column indices[i, k], or nowhere if that is −1; its element (p, q) is
  /// values[i · b + p, k · b + q]. indices [rows / b, width], values [rows, width · b].
  blocked_ell,
  /// Slices of `slice_rows` rows, which are as wide as their longest row and stored column by
  /// column: element k of row p of slice s is at offsets[s] + k · slice_rows + p, in column
  /// indices[…], or nowhere if that is −1. offsets [slices + 1], indices and values
  /// [offsets[slices]].
  sliced_ell,
};

/// A sparse matrix: an argument of requests that only read it.
///
/// It is a value, made of views that keep their buffers alive. Requests check before anything is
/// queued that the tensors match: their extents, types, and `rows` and `columns`. The content of
/// the tensors is checked when a request runs: `sparse::validate` reports a defect of a pattern,
/// and each request documents how it treats an invalid one.
///
/// offsets, row_indices and indices are all i32 or all i64; values are f32, f64, f16, bf16, c64 or
/// c128. All are packed. Tensors that the format does not have are left out.
struct TROUPE_EXPORT sparse_matrix {
  sparse_format format = sparse_format::csr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  any_tensor offsets{};
  any_tensor row_indices{};
  any_tensor indices{};
  any_tensor values{};
  std::int64_t slice_rows = 0;  ///< for sliced_ell; 0 otherwise

  // From tensors. The extents that do not follow from these are given. Nothing is checked here.

  [[nodiscard]] static sparse_matrix csr(std::int64_t columns, const any_tensor& offsets,
                                         const any_tensor& indices, const any_tensor& values);
  [[nodiscard]] static sparse_matrix csc(std::int64_t rows, const any_tensor& offsets,
                                         const any_tensor& indices, const any_tensor& values);
  [[nodiscard]] static sparse_matrix coo(std::int64_t rows, std::int64_t columns,
                                         const any_tensor& row_indices, const any_tensor& indices,
                                         const any_tensor& values);
  [[nodiscard]] static sparse_matrix bsr(std::int64_t columns, const any_tensor& offsets,
                                         const any_tensor& indices, const any_tensor& values);
  [[nodiscard]] static sparse_matrix blocked_ell(std::int64_t columns, const any_tensor& indices,
                                                 const any_tensor& values);
  [[nodiscard]] static sparse_matrix sliced_ell(std::int64_t rows, std::int64_t columns,
                                                std::int64_t slice_rows, const any_tensor& offsets,
                                                const any_tensor& indices,
                                                const any_tensor& values);

  /// The same tensors as the transposed matrix: csr as csc and the reverse.
  /// \errors `invalid_argument` for the other formats, which have no such view
  [[nodiscard]] result<sparse_matrix> transpose() const;
  /// The first `count` elements of a csr, csc or coo matrix whose tensors have room for more, as
  /// after a conversion that said how many there are. \errors `invalid_argument` for more than
  /// there are, and for other formats
  [[nodiscard]] result<sparse_matrix> first(std::int64_t count) const;

  /// Elements that are stored, among them zeros and padding.
  [[nodiscard]] std::int64_t stored() const noexcept { return values.null() ? 0 : values.count(); }
  /// Type of offsets and indices.
  [[nodiscard]] dtype index_type() const noexcept { return indices.type(); }

  friend TROUPE_EXPORT bool operator==(const sparse_matrix& a, const sparse_matrix& b) noexcept;

  static void describe(description<sparse_matrix>& d);
};

/// A sparse matrix whose pattern is read and whose values are read and written.
struct TROUPE_EXPORT updated_sparse_matrix : sparse_matrix {
  updated_sparse_matrix() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): any matrix can be an argument.
  updated_sparse_matrix(const sparse_matrix& of) : sparse_matrix(of) {}

  static void describe(description<updated_sparse_matrix>& d);
};

/// A sparse matrix that a request writes: its pattern and its values. Its tensors may have room for
/// more elements than there will be.
struct TROUPE_EXPORT written_sparse_matrix : sparse_matrix {
  written_sparse_matrix() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): any matrix can be an argument.
  written_sparse_matrix(const sparse_matrix& of) : sparse_matrix(of) {}

  static void describe(description<written_sparse_matrix>& d);
};

}  // namespace troupe
