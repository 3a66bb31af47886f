#pragma once

#include "conformance/scene.hpp"

#include <limits>

/// Cases that the tests of banded and of packed storage share.
namespace troupe::conformance {

inline constexpr std::int64_t storage_sizes[] = {0, 1, 2, 7, 30};
constexpr std::int64_t packed_size(std::int64_t n) { return n * (n + 1) / 2; }

/// Puts NaN into the elements of band storage that lie outside an m×n matrix.
inline void hide_outside(scene& s, test_tensor& ab, std::int64_t m, std::int64_t ku) {
  std::vector<number> values = ab.values;
  const std::int64_t n = ab.view.extent(1);
  for (std::int64_t d = 0; d < ab.view.extent(0); ++d) {
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t i = d - ku + j;
      if (i < 0 || i >= m) {
        values[static_cast<std::size_t>(d * n + j)] = std::numeric_limits<double>::quiet_NaN();
      }
    }
  }
  s.fill(ab, values);
}
/// Every symmetric or Hermitian product from storage: banded (k diagonals) or packed (k < 0).
template <class Request>
void check_product(std::span<const dtype> types, bool is_hermitian, std::int64_t k,
                   Request (*make)(const any_tensor&, const any_tensor&, const any_tensor&)) {
  for (const dtype type : types) {
    for (const layout l : column_layouts) {
      for (const blas::uplo uplo : triangles) {
        for (const std::int64_t n : storage_sizes) {
          scene s;
          s.name(std::string(to_string(type)) + " n=" + std::to_string(n) +
                 " k=" + std::to_string(k));
          auto& storage = k < 0 ? s.vector(type, packed_size(n)) : s.matrix_of(type, k + 1, n, l);
          if (k >= 0) hide_outside(s, storage, n, uplo == blas::uplo::upper ? k : 0);
          auto& x = s.vector(type, n, 2);
          auto& y = s.vector(type, n, 3);
          Request r = make(storage.view, x.view, y.view);
          r.alpha = factor(type, 1.25, -0.5);
          r.beta = l == layout::column ? scalar(0) : factor(type, -0.75, 2);
          r.uplo = uplo;
          s.run(r);
          const matrix triangle = k < 0 ? from_packed(storage.before(), n, uplo)
                                        : from_triangular_band(storage.before(), uplo);
          const matrix a = is_hermitian ? hermitian(triangle, uplo) : symmetric(triangle, uplo);
          s.expect(y, as_number(r.alpha) * (a * x.before()) + as_number(r.beta) * y.before(),
                   number(2) * (magnitude(a) * magnitude(x.before())) +
                       number(3) * magnitude(y.before()),
                   n, real_of(type));
        }
      }
    }
  }
}

/// Calls `check` for triangles in either storage, of every type, op, triangle, diagonal and size.
template <class Check>
void for_each_triangle(std::initializer_list<std::int64_t> diagonals_beside, Check check) {
  for (const dtype type : classic_types) {
    for (const std::int64_t k : diagonals_beside) {
      for (const blas::storage_op op : storage_ops) {
        for (const blas::uplo uplo : triangles) {
          for (const blas::diag diag : diagonals) {
            for (const std::int64_t n : storage_sizes) {
              scene s;
              s.name(std::string(to_string(type)) + " n=" + std::to_string(n) +
                     " k=" + std::to_string(k));
              auto& storage = k < 0 ? s.vector(type, packed_size(n))
                                    : s.matrix_of(type, k + 1, n, layout::column_padded);
              if (k >= 0) hide_outside(s, storage, n, uplo == blas::uplo::upper ? k : 0);
              auto& x = s.vector(type, n, 2);
              const matrix held = k < 0 ? from_packed(storage.before(), n, uplo)
                                        : from_triangular_band(storage.before(), uplo);
              check(s, storage.view, x, op, uplo, diag, applied(op, triangular(held, uplo, diag)));
            }
          }
        }
      }
    }
  }
}

template <class Request>
auto multiplies(Request (*make)(const any_tensor&, const any_tensor&)) {
  return [make](scene& s, const any_tensor& storage, test_tensor& x, blas::storage_op op,
                blas::uplo uplo, blas::diag diag, const matrix& a) {
    Request r = make(storage, x.view);
    r.uplo = uplo;
    r.diag = diag;
    r.op_a = op;
    s.run(r);
    s.expect(x, a * x.before(), magnitude(a) * magnitude(x.before()), a.rows,
             real_of(storage.type()));
  };
}

template <class Request>
auto solves(Request (*make)(const any_tensor&, const any_tensor&)) {
  return [make](scene& s, const any_tensor& storage, test_tensor& x, blas::storage_op op,
                blas::uplo uplo, blas::diag diag, const matrix& a) {
    Request r = make(storage, x.view);
    r.uplo = uplo;
    r.diag = diag;
    r.op_a = op;
    s.run(r);
    s.expect_solution(x, a, x.before());
  };
}

}  // namespace troupe::conformance
