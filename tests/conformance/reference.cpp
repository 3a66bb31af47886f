#include "reference.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::conformance {
namespace {

template <class Element>
matrix each(std::int64_t rows, std::int64_t columns, Element element) {
  matrix result(rows, columns);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j)
      result(i, j) = element(i, j);
  }
  return result;
}

bool inside(blas::uplo uplo, std::int64_t i, std::int64_t j) {
  return uplo == blas::uplo::upper ? i <= j : i >= j;
}

bool is_real(const matrix& a) {
  return std::ranges::all_of(a.values, [](const number& one) { return one.imag() == 0; });
}
std::vector<double> reals_of(const matrix& a) {
  std::vector<double> reals(a.values.size());
  std::ranges::transform(a.values, reals.begin(), [](const number& one) { return one.real(); });
  return reals;
}

/// In an eighth of the time of the product of complex numbers.
matrix real_product(const matrix& a, const matrix& b) {
  const std::vector<double> left = reals_of(a);
  const std::vector<double> right = reals_of(b);
  const auto depth = static_cast<std::size_t>(a.columns);
  const auto columns = static_cast<std::size_t>(b.columns);
  matrix product(a.rows, b.columns);
  std::vector<double> row(columns);
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) {
    std::ranges::fill(row, 0.0);
    for (std::size_t k = 0; k < depth; ++k) {
      const double factor = left[i * depth + k];
      for (std::size_t j = 0; j < columns; ++j)
        row[j] += factor * right[k * columns + j];
    }
    std::ranges::copy(row, product.values.begin() + static_cast<std::ptrdiff_t>(i * columns));
  }
  return product;
}

}  // namespace

matrix operator*(const matrix& a, const matrix& b) {
  if (is_real(a) && is_real(b)) return real_product(a, b);
  matrix product(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t k = 0; k < a.columns; ++k) {
      const number left = a(i, k);
      for (std::int64_t j = 0; j < b.columns; ++j) {
        const number right = b(k, j);
        // By hand: std::complex's own product repairs infinities, at 20 times the cost.
        product(i, j) += number(left.real() * right.real() - left.imag() * right.imag(),
                                left.real() * right.imag() + left.imag() * right.real());
      }
    }
  }
  return product;
}

matrix operator*(number factor, const matrix& a) {
  return each(a.rows, a.columns, [&](auto i, auto j) { return factor * a(i, j); });
}
matrix operator+(const matrix& a, const matrix& b) {
  return each(a.rows, a.columns, [&](auto i, auto j) { return a(i, j) + b(i, j); });
}
matrix operator-(const matrix& a, const matrix& b) {
  return each(a.rows, a.columns, [&](auto i, auto j) { return a(i, j) - b(i, j); });
}
matrix transposed(const matrix& a) {
  return each(a.columns, a.rows, [&](auto i, auto j) { return a(j, i); });
}
matrix conjugated(const matrix& a) {
  return each(a.rows, a.columns, [&](auto i, auto j) { return std::conj(a(i, j)); });
}
matrix adjoint(const matrix& a) { return conjugated(transposed(a)); }
matrix magnitude(const matrix& a) {
  return each(a.rows, a.columns, [&](auto i, auto j) {
    return number(std::abs(a(i, j).real()) + std::abs(a(i, j).imag()));
  });
}

matrix applied(blas::op o, const matrix& a) { return o == blas::op::none ? a : conjugated(a); }
matrix applied(blas::storage_op o, const matrix& a) {
  switch (o) {
    case blas::storage_op::none:
      return a;
    case blas::storage_op::transpose:
      return transposed(a);
    case blas::storage_op::conjugate_transpose:
      return adjoint(a);
    case blas::storage_op::conjugate:
      return conjugated(a);
  }
  return a;
}

matrix triangular(const matrix& a, blas::uplo uplo, blas::diag diag) {
  return each(a.rows, a.columns, [&](auto i, auto j) {
    if (i == j && diag == blas::diag::unit) return number(1);
    return inside(uplo, i, j) ? a(i, j) : number(0);
  });
}
matrix symmetric(const matrix& a, blas::uplo uplo) {
  return each(a.rows, a.columns,
              [&](auto i, auto j) { return inside(uplo, i, j) ? a(i, j) : a(j, i); });
}
matrix hermitian(const matrix& a, blas::uplo uplo) {
  return each(a.rows, a.columns, [&](auto i, auto j) {
    if (i == j) return number(a(i, i).real());
    return inside(uplo, i, j) ? a(i, j) : std::conj(a(j, i));
  });
}
matrix in_triangle(blas::uplo uplo, const matrix& within, const matrix& outside) {
  return each(within.rows, within.columns,
              [&](auto i, auto j) { return inside(uplo, i, j) ? within(i, j) : outside(i, j); });
}

matrix from_band(const matrix& ab, std::int64_t m, std::int64_t kl, std::int64_t ku) {
  return each(m, ab.columns, [&](auto i, auto j) {
    return i - j <= kl && j - i <= ku ? ab(ku + i - j, j) : number(0);
  });
}
matrix from_triangular_band(const matrix& ab, blas::uplo uplo) {
  const std::int64_t k = ab.rows - 1;
  return each(ab.columns, ab.columns, [&](auto i, auto j) {
    if (!inside(uplo, i, j) || std::abs(i - j) > k) return number(0);
    return uplo == blas::uplo::upper ? ab(k + i - j, j) : ab(i - j, j);
  });
}
matrix from_packed(const matrix& ap, std::int64_t n, blas::uplo uplo) {
  return each(n, n, [&](auto i, auto j) {
    if (!inside(uplo, i, j)) return number(0);
    return uplo == blas::uplo::upper ? ap(i + j * (j + 1) / 2, 0)
                                     : ap(i + j * (2 * n - j - 1) / 2, 0);
  });
}

}  // namespace troupe::conformance
