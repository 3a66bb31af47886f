#include "scene.hpp"

#include <troupe/ops/blas/level2_banded.hpp>
#include <troupe/ops/blas/level2_packed.hpp>

#include <limits>

namespace troupe::conformance {
namespace {

constexpr std::int64_t sizes[] = {0, 1, 2, 7, 30};
constexpr layout columns[] = {layout::column, layout::column_padded};
constexpr std::int64_t packed_size(std::int64_t n) { return n * (n + 1) / 2; }

bool transposes(blas::storage_op op) {
  return op == blas::storage_op::transpose || op == blas::storage_op::conjugate_transpose;
}

/// Puts NaN into the elements of band storage that lie outside an m×n matrix.
void hide_outside(scene& s, test_tensor& ab, std::int64_t m, std::int64_t ku) {
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

TEST(BlasBanded, GbmvMultiplies) {
  for (const dtype type : classic_types) {
    for (const layout l : columns) {
      for (const blas::storage_op op : storage_ops) {
        for (const auto& [kl, ku] : {std::pair<std::int64_t, std::int64_t>{0, 0}, {2, 1}, {0, 3}}) {
          for (const std::int64_t m : sizes) {
            for (const std::int64_t n : sizes) {
              scene s;
              s.name(std::string(to_string(type)) + " m=" + std::to_string(m) +
                     " n=" + std::to_string(n) + " kl=" + std::to_string(kl));
              auto& ab = s.matrix_of(type, kl + ku + 1, n, l);
              hide_outside(s, ab, m, ku);
              auto& x = s.vector(type, transposes(op) ? m : n, 2);
              auto& y = s.vector(type, transposes(op) ? n : m);
              const scalar alpha = factor(type, 1.25, -0.5);
              const scalar beta = m % 2 == 0 ? scalar(0) : factor(type, -0.75, 2);
              s.run(blas::gbmv{.ab = ab.view,
                               .x = x.view,
                               .y = y.view,
                               .kl = kl,
                               .ku = ku,
                               .alpha = alpha,
                               .beta = beta,
                               .op_a = op});
              const matrix a = applied(op, from_band(ab.before(), m, kl, ku));
              s.expect(y, as_number(alpha) * (a * x.before()) + as_number(beta) * y.before(),
                       number(2) * (magnitude(a) * magnitude(x.before())) +
                           number(3) * magnitude(y.before()),
                       kl + ku + 1, real_of(type));
            }
          }
        }
      }
    }
  }
}

/// Every symmetric or Hermitian product from storage: banded (k diagonals) or packed (k < 0).
template <class Request>
void check_product(std::span<const dtype> types, bool is_hermitian, std::int64_t k,
                   Request (*make)(const any_tensor&, const any_tensor&, const any_tensor&)) {
  for (const dtype type : types) {
    for (const layout l : columns) {
      for (const blas::uplo uplo : triangles) {
        for (const std::int64_t n : sizes) {
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

template <class Request>
Request banded(const any_tensor& ab, const any_tensor& x, const any_tensor& y) {
  return {.ab = ab, .x = x, .y = y};
}
template <class Request>
Request packed(const any_tensor& ap, const any_tensor& x, const any_tensor& y) {
  return {.ap = ap, .x = x, .y = y};
}

TEST(BlasBanded, SbmvAndHbmvMultiply) {
  for (const std::int64_t k : {0, 1, 3}) {
    check_product(classic_types, false, k, banded<blas::sbmv>);
    check_product(complex_types, true, k, banded<blas::hbmv>);
  }
}

TEST(BlasPacked, SpmvAndHpmvMultiply) {
  check_product(classic_types, false, -1, packed<blas::spmv>);
  check_product(complex_types, true, -1, packed<blas::hpmv>);
}

/// Calls `check` for triangles in either storage, of every type, op, triangle, diagonal and size.
template <class Check>
void for_each_triangle(std::initializer_list<std::int64_t> diagonals_beside, Check check) {
  for (const dtype type : classic_types) {
    for (const std::int64_t k : diagonals_beside) {
      for (const blas::storage_op op : storage_ops) {
        for (const blas::uplo uplo : triangles) {
          for (const blas::diag diag : diagonals) {
            for (const std::int64_t n : sizes) {
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

template <class Request>
Request banded(const any_tensor& ab, const any_tensor& x) {
  return {.ab = ab, .x = x};
}
template <class Request>
Request packed(const any_tensor& ap, const any_tensor& x) {
  return {.ap = ap, .x = x};
}

TEST(BlasBanded, TbmvAndTbsvWorkOnOneTriangle) {
  for_each_triangle({0, 1, 3}, multiplies<blas::tbmv>(banded<blas::tbmv>));
  for_each_triangle({0, 1, 3}, solves<blas::tbsv>(banded<blas::tbsv>));
}

TEST(BlasPacked, TpmvAndTpsvWorkOnOneTriangle) {
  for_each_triangle({-1}, multiplies<blas::tpmv>(packed<blas::tpmv>));
  for_each_triangle({-1}, solves<blas::tpsv>(packed<blas::tpsv>));
}

TEST(BlasBanded, RefuseWhatTheyCannotDo) {
  scene s;
  const auto band = [&](dtype type, std::int64_t d, std::int64_t n, layout l = layout::column) {
    return s.matrix_of(type, d, n, l).view;
  };
  const auto vector = [&](dtype type, std::int64_t n) { return s.vector(type, n).view; };
  const auto ab = band(dtype::f32, 3, 5);
  const auto x = vector(dtype::f32, 5);
  const auto y = vector(dtype::f32, 5);
  s.refuse(blas::gbmv{.ab = ab, .x = x, .y = y, .kl = 1, .ku = 2}, errc::shape_mismatch,
           "ab has 3 diagonals but kl is 1 and ku is 2");
  s.refuse(blas::gbmv{.ab = ab, .x = x, .y = y, .kl = -1, .ku = 3}, errc::shape_mismatch, "kl is");
  s.refuse(blas::gbmv{.ab = ab, .x = x, .y = y, .kl = INT64_MAX, .ku = INT64_MAX},
           errc::shape_mismatch, "kl is");
  s.refuse(blas::gbmv{.ab = ab, .x = vector(dtype::f32, 4), .y = y, .kl = 1, .ku = 1},
           errc::shape_mismatch, "x is [4]");
  s.refuse(blas::gbmv{.ab = band(dtype::f32, 3, 5, layout::row), .x = x, .y = y, .kl = 1, .ku = 1},
           errc::layout_unsupported, "ab must be column-major");
  s.refuse(blas::gbmv{.ab = ab, .x = x, .y = x, .kl = 1, .ku = 1}, errc::aliasing, "y is written");
  s.refuse(blas::sbmv{.ab = band(dtype::f32, 0, 5), .x = x, .y = y}, errc::shape_mismatch,
           "at least one diagonal");
  s.refuse(blas::sbmv{.ab = ab, .x = x, .y = vector(dtype::f64, 5)}, errc::type_mismatch, "y is");
  s.refuse(blas::hbmv{.ab = ab, .x = x, .y = y}, errc::type_mismatch, "ab is f32");
  s.refuse(blas::tbmv{.ab = ab, .x = vector(dtype::f32, 4)}, errc::shape_mismatch, "x is [4]");
  const std::int64_t one[] = {1};
  s.refuse(blas::tbsv{.ab = ab, .x = ab.as_strided({5}, one).value()}, errc::aliasing,
           "x is written");
}

TEST(BlasPacked, RefuseWhatTheyCannotDo) {
  scene s;
  const auto vector = [&](dtype type, std::int64_t n, std::int64_t stride = 1) {
    return s.vector(type, n, stride).view;
  };
  const auto ap = vector(dtype::f32, 10);
  const auto x = vector(dtype::f32, 4);
  const auto y = vector(dtype::f32, 4);
  s.refuse(blas::spmv{.ap = vector(dtype::f32, 11), .x = x, .y = y}, errc::shape_mismatch,
           "ap has 11 elements but a triangle of order 4");
  s.refuse(blas::spmv{.ap = vector(dtype::f32, 10, 2), .x = x, .y = y}, errc::layout_unsupported,
           "ap must have unit stride");
  s.refuse(blas::spmv{.ap = ap, .x = x, .y = x}, errc::aliasing, "y is written");
  s.refuse(blas::hpmv{.ap = ap, .x = x, .y = y}, errc::type_mismatch, "ap is f32");
  s.refuse(blas::tpmv{.ap = ap, .x = vector(dtype::f64, 4)}, errc::type_mismatch, "x is f64");
  s.refuse(blas::tpsv{.ap = ap, .x = vector(dtype::f32, 5)}, errc::shape_mismatch, "order 5");
}

}  // namespace
}  // namespace troupe::conformance
