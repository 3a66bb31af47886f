#include "wide_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe::conformance {

wide_matrix::wide_matrix(const matrix& a) : wide_matrix(a.rows, a.columns) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = {a.values[i].real(), a.values[i].imag()};
}

wide_matrix operator*(const wide_matrix& a, const wide_matrix& b) {
  wide_matrix c(a.rows, b.columns);
  // Not the operator of complex numbers, which looks for infinities.
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t k = 0; k < a.columns; ++k) {
      const long double real = a(i, k).real();
      const long double imaginary = a(i, k).imag();
      if (real == 0 && imaginary == 0) continue;
      for (std::int64_t j = 0; j < b.columns; ++j) {
        const wide_matrix::number with = b(k, j);
        c(i, j) += wide_matrix::number(real * with.real() - imaginary * with.imag(),
                                       real * with.imag() + imaginary * with.real());
      }
    }
  }
  return c;
}

wide_matrix operator-(const wide_matrix& a, const wide_matrix& b) {
  wide_matrix c = a;
  for (std::size_t i = 0; i < c.values.size(); ++i)
    c.values[i] -= b.values[i];
  return c;
}

wide_matrix adjoint(const wide_matrix& a) {
  wide_matrix t(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j)
      t(j, i) = std::conj(a(i, j));
  }
  return t;
}

wide_matrix identity(std::int64_t n) {
  wide_matrix one(n, n);
  for (std::int64_t i = 0; i < n; ++i)
    one(i, i) = 1;
  return one;
}

wide_matrix diagonal(std::int64_t rows, std::int64_t columns, const matrix& d) {
  wide_matrix a(rows, columns);
  for (std::int64_t i = 0; i < d.rows; ++i)
    a(i, i) = {d(i, 0).real(), d(i, 0).imag()};
  return a;
}

wide_matrix first_columns(const wide_matrix& a, std::int64_t count) {
  wide_matrix part(a.rows, count);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < count; ++j)
      part(i, j) = a(i, j);
  }
  return part;
}

long double norm_of(const wide_matrix& a) {
  long double largest = 0;
  for (std::int64_t j = 0; j < a.columns; ++j) {
    long double sum = 0;
    for (std::int64_t i = 0; i < a.rows; ++i)
      sum += std::abs(a(i, j));
    if (std::isnan(sum)) return sum;
    largest = std::max(largest, sum);
  }
  return largest;
}

double ratio(const wide_matrix& residual, std::int64_t n, long double norm, dtype type) {
  const long double off = norm_of(residual);
  if (off == 0) return 0;
  if (norm == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(off / (static_cast<long double>(std::max<std::int64_t>(n, 1)) * norm *
                                    static_cast<long double>(epsilon(type) / 2)));
}

double orthogonality(const wide_matrix& a, dtype type) {
  return ratio(adjoint(a) * a - identity(a.columns), a.rows, 1, type);
}

}  // namespace troupe::conformance
