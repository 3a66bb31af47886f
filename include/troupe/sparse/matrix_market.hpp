#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>
#include <troupe/sparse/matrix.hpp>

#include <complex>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <vector>

namespace troupe {
class device;
}

/// Matrix Market files, read and written by the program itself. Source: R. F. Boisvert, R. Pozo,
/// K. Remington, "The Matrix Market Exchange Formats: Initial Design", NISTIR 5935, 1996.
namespace troupe::sparse {

/// A sparse matrix in the program's memory, element by element in any order.
struct coordinates {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool is_complex = false;  ///< otherwise imaginary parts are zero
  std::vector<std::int64_t> row_indices;
  std::vector<std::int64_t> column_indices;
  std::vector<std::complex<double>> values;

  friend bool operator==(const coordinates&, const coordinates&) = default;
};

/// Reads a matrix: coordinate or array; real, integer, complex or pattern, whose values are 1;
/// general, symmetric, skew-symmetric or Hermitian, which gets both triangles. Zeros of arrays are
/// left out. \errors `invalid_argument` for a file that cannot be opened or is invalid, with the
/// line
[[nodiscard]] TROUPE_EXPORT result<coordinates> read_matrix_market(
    const std::filesystem::path& file);
[[nodiscard]] TROUPE_EXPORT result<coordinates> read_matrix_market(std::istream& from);

/// Writes it as general coordinates, with all digits of its values. \errors `invalid_argument` for
/// lists of different lengths and indices outside, `library_error` for a file that cannot be
/// written
[[nodiscard]] TROUPE_EXPORT result<void> write_matrix_market(const coordinates& a,
                                                             const std::filesystem::path& file);
[[nodiscard]] TROUPE_EXPORT result<void> write_matrix_market(const coordinates& a,
                                                             std::ostream& to);

/// Allocates the matrix on the device, in csr with columns that ascend, and copies it there.
/// Duplicate elements stay. Waits for the copies. \errors `invalid_argument` for indices outside
/// and for types that no matrix has; those of allocations and copies
[[nodiscard]] TROUPE_EXPORT result<sparse_matrix> to_device(troupe::device& on,
                                                            const coordinates& a,
                                                            dtype values = dtype::f64,
                                                            dtype indices = dtype::i32);

}  // namespace troupe::sparse
