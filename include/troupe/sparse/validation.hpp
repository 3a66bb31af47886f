#pragma once

#include <troupe/request/request.hpp>
#include <troupe/sparse/matrix.hpp>

namespace troupe::sparse {

/// Checks the pattern of a matrix where it lies, and waits for nothing.
///
/// Offsets begin with 0, do not descend and end with the number of elements; rows and columns are
/// inside the matrix; in a row the columns ascend, so that none occurs twice (of csc: in a column
/// the rows). Rows of coo do not descend. Padding of blocked_ell and sliced_ell is −1 and behind
/// the elements of a row; offsets of sliced_ell are multiples of `slice_rows`. A pattern that is
/// otherwise fails with `invalid_argument`, detected when the request runs; the message names the
/// first row, column or slice that is wrong, and how: "row 7: column 12 occurs twice".
struct TROUPE_EXPORT validate {
  static constexpr std::string_view name = "sparse.validate";
  using reply = void;

  sparse_matrix a{};

  static void describe(description<validate>& d);
};

}  // namespace troupe::sparse
