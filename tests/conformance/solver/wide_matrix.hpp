#pragma once

#include "conformance/reference.hpp"

#include <complex>
#include <cstdint>
#include <vector>

/// Residuals of factorisations, by naive loops in 80-bit numbers.
namespace troupe::conformance {

struct wide_matrix {
  using number = std::complex<long double>;

  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<number> values;  ///< row-major

  wide_matrix() = default;
  wide_matrix(std::int64_t r, std::int64_t c)
      : rows(r), columns(c), values(static_cast<std::size_t>(r * c)) {}
  wide_matrix(const matrix& a);  // NOLINT(google-explicit-constructor): it is the same matrix
  number& operator()(std::int64_t i, std::int64_t j) {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
  number operator()(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
};

[[nodiscard]] wide_matrix operator*(const wide_matrix& a, const wide_matrix& b);
[[nodiscard]] wide_matrix operator-(const wide_matrix& a, const wide_matrix& b);
[[nodiscard]] wide_matrix adjoint(const wide_matrix& a);
[[nodiscard]] wide_matrix identity(std::int64_t n);
/// A matrix with `d` on its diagonal: a column of numbers.
[[nodiscard]] wide_matrix diagonal(std::int64_t rows, std::int64_t columns, const matrix& d);
[[nodiscard]] wide_matrix first_columns(const wide_matrix& a, std::int64_t count);
/// The largest sum of magnitudes of a column.
[[nodiscard]] long double norm_of(const wide_matrix& a);

/// LAPACK's ratio ‖residual‖ / (n · norm · eps), with eps the unit roundoff of `type`.
[[nodiscard]] double ratio(const wide_matrix& residual, std::int64_t n, long double norm,
                           dtype type);
/// ‖aᴴ · a − 1‖ / (rows · eps).
[[nodiscard]] double orthogonality(const wide_matrix& a, dtype type);

/// The threshold of LAPACK's own tests.
inline constexpr double threshold = 30;

}  // namespace troupe::conformance
