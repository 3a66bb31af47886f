#pragma once

#include "element.hpp"

#include <troupe/blas/modes.hpp>

#include <cstdint>
#include <vector>

/// Naive linear algebra in complex<double>, from the textbook definitions, for results to be
/// compared with. A vector is a matrix of one column.
namespace troupe::conformance {

struct matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<number> values;  ///< row-major

  matrix() = default;
  matrix(std::int64_t r, std::int64_t c)
      : rows(r), columns(c), values(static_cast<std::size_t>(r * c)) {}
  number& operator()(std::int64_t i, std::int64_t j) {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
  number operator()(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
};

[[nodiscard]] matrix operator*(const matrix& a, const matrix& b);
[[nodiscard]] matrix operator*(number factor, const matrix& a);
[[nodiscard]] matrix operator+(const matrix& a, const matrix& b);
[[nodiscard]] matrix operator-(const matrix& a, const matrix& b);
[[nodiscard]] matrix transposed(const matrix& a);
[[nodiscard]] matrix conjugated(const matrix& a);
[[nodiscard]] matrix adjoint(const matrix& a);
/// The magnitudes |re| + |im| of the elements, for error bounds.
[[nodiscard]] matrix magnitude(const matrix& a);

[[nodiscard]] matrix applied(blas::op o, const matrix& a);
[[nodiscard]] matrix applied(blas::storage_op o, const matrix& a);

/// The triangular matrix in one triangle of `a`, zero elsewhere.
[[nodiscard]] matrix triangular(const matrix& a, blas::uplo uplo,
                                blas::diag diag = blas::diag::non_unit);
/// The symmetric or Hermitian matrix whose one triangle is that of `a`. The imaginary part of a
/// Hermitian matrix's diagonal is taken to be zero.
[[nodiscard]] matrix symmetric(const matrix& a, blas::uplo uplo);
[[nodiscard]] matrix hermitian(const matrix& a, blas::uplo uplo);
/// `inside` in the triangle, `outside` elsewhere.
[[nodiscard]] matrix in_triangle(blas::uplo uplo, const matrix& inside, const matrix& outside);

/// The m×n matrix in general band storage: ab[ku + i − j, j] = a[i, j].
[[nodiscard]] matrix from_band(const matrix& ab, std::int64_t m, std::int64_t kl, std::int64_t ku);
/// The triangle in triangular band storage: upper ab[k + i − j, j], lower ab[i − j, j].
[[nodiscard]] matrix from_triangular_band(const matrix& ab, blas::uplo uplo);
/// The triangle in packed storage: upper ap[i + j(j+1)/2], lower ap[i + j(2n−j−1)/2].
[[nodiscard]] matrix from_packed(const matrix& ap, std::int64_t n, blas::uplo uplo);

}  // namespace troupe::conformance
