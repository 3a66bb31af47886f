#pragma once

#include <troupe/request/request.hpp>
#include <troupe/sparse/matrix.hpp>

/// Conversions between dense and sparse matrices and between formats, parts and sums. Values
/// have one type: f64, f32, f16, bf16, c128 or c64; indices of two matrices may have two types.
///
/// A resulting matrix is csr, csc or coo. Its elements are in order: rows ascend (for csc columns),
/// and within a row the columns (for csc the rows). The number of elements is known only once the
/// request has run: it is the reply, and is also written to `nnz`, a one-element tensor of i64, if
/// that is given. The caller chooses the capacity: the length of `indices` and `values`. If that is
/// less than the number, the request fails with `capacity_exceeded`, whose message has the number,
/// and `nnz` has it too; all other outputs are unspecified. Elements behind that number are not
/// written; `sparse_matrix::first` is the matrix without them.
///
/// An offset or index that points outside is `invalid_argument`, detected when the request runs;
/// the outputs are then unspecified, but no other memory is touched.
namespace troupe::sparse {

/// b = the elements of a dense matrix that are not zero. NaNs are not zero.
///
/// a [m, n] has any strides.
struct TROUPE_EXPORT from_dense {
  static constexpr std::string_view name = "sparse.from_dense";
  using reply = std::int64_t;

  any_tensor a{};
  written_sparse_matrix b{};
  any_tensor nnz{};

  static void describe(description<from_dense>& d);
};

/// b = a as a dense matrix, with zeros where a has no element. Duplicate elements are added up, in
/// the type of b.
///
/// a has any format; b [m, n] any strides.
struct TROUPE_EXPORT to_dense {
  static constexpr std::string_view name = "sparse.to_dense";
  using reply = void;

  sparse_matrix a{};
  any_tensor b{};

  static void describe(description<to_dense>& d);
};

/// b = a in another format, or the same with its elements in order. Duplicate elements stay, in the
/// order of a; padding goes, zeros stay.
///
/// a has any format. rows · columns is less than 2^63.
struct TROUPE_EXPORT convert {
  static constexpr std::string_view name = "sparse.convert";
  using reply = std::int64_t;

  sparse_matrix a{};
  written_sparse_matrix b{};
  any_tensor nnz{};

  static void describe(description<convert>& d);
};

/// b = the part of a that begins at [first_row, first_column] and has b's rows and columns, in any
/// format that `convert` makes.
///
/// The rest is as in `convert`.
struct TROUPE_EXPORT slice {
  static constexpr std::string_view name = "sparse.slice";
  using reply = std::int64_t;

  sparse_matrix a{};
  written_sparse_matrix b{};
  std::int64_t first_row = 0;
  std::int64_t first_column = 0;
  any_tensor nnz{};

  static void describe(description<slice>& d);
};

/// c = alpha · a + beta · b. c has an element wherever a or b has one, once, even if the sum is
/// zero: duplicate elements are added up, those of a first. There are at most as many as a and b
/// have together.
///
/// a and b have any formats. f16 and bf16 are added up in f32 and rounded once. Values of a matrix
/// whose factor is 0 are not read. rows · columns is less than 2^63.
struct TROUPE_EXPORT add {
  static constexpr std::string_view name = "sparse.add";
  using reply = std::int64_t;

  sparse_matrix a{};
  sparse_matrix b{};
  written_sparse_matrix c{};
  scalar alpha = 1;
  scalar beta = 1;
  any_tensor nnz{};

  static void describe(description<add>& d);
};

}  // namespace troupe::sparse
