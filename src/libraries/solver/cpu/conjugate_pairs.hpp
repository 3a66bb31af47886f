#pragma once

#include "libraries/solver/cpu/matrices.hpp"

#include <complex>
#include <cstdint>

namespace troupe::cpu {

/// LAPACK's eigenvectors of a real matrix: a column is one, or two columns are the real and the
/// imaginary part of one and of its conjugate.
template <class R>
void spread_vectors(const R* imaginary, const matrix_view<R>& packed,
                    const matrix_view<std::complex<R>>& v) {
  for (std::int64_t j = 0; j < v.columns; ++j) {
    const bool is_pair = imaginary[j] != 0 && j + 1 < v.columns;
    for (std::int64_t i = 0; i < v.rows; ++i) {
      const R real = packed(i, j);
      if (!is_pair) {
        v(i, j) = real;
        continue;
      }
      v(i, j) = {real, packed(i, j + 1)};
      v(i, j + 1) = {real, -packed(i, j + 1)};
    }
    if (is_pair) ++j;
  }
}

}  // namespace troupe::cpu
