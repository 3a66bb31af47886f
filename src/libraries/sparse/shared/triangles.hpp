#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/sparse/matrix.hpp>

#include <cstdint>
#include <string_view>

/// A triangular system in compressed storage, for both backends.
namespace troupe::sparse {

/// The triangle of op_a(a). A major is a row of csr, or a column of csc.
struct triangle {
  bool by_rows = true;       ///< majors are rows of op_a(a), else its columns
  bool forward = true;       ///< unknowns are found from the first to the last
  bool minors_below = true;  ///< the triangle has the minors below the major, else those above
  bool unit = false;
  bool conjugated = false;

  template <class R>
  explicit triangle(const R& r) noexcept {
    const bool transposed =
        r.op_a == blas::storage_op::transpose || r.op_a == blas::storage_op::conjugate_transpose;
    const bool csc = r.a.format == sparse_format::csc;
    by_rows = csc == transposed;
    forward = (r.uplo == blas::uplo::lower) != transposed;
    minors_below = (r.uplo == blas::uplo::lower) != csc;
    unit = r.diag == blas::diag::unit;
    conjugated =
        r.op_a == blas::storage_op::conjugate || r.op_a == blas::storage_op::conjugate_transpose;
  }

  /// Off the diagonal.
  [[nodiscard]] constexpr bool has(std::int64_t major, std::int64_t minor) const noexcept {
    return minors_below ? minor < major : minor > major;
  }
  /// The major whose unknown is found as number `step` of `n`.
  [[nodiscard]] constexpr std::int64_t major_of(std::int64_t step, std::int64_t n) const noexcept {
    return forward ? step : n - 1 - step;
  }
};

// The parts of error messages around the number of a row.
inline constexpr std::string_view zero_diagonal_before = "singular: the diagonal element of row ";
inline constexpr std::string_view zero_diagonal_after = " is zero";

}  // namespace troupe::sparse
