#include "storage_cases.hpp"
#include "zero_alpha_cases.hpp"

#include <troupe/blas/level2_banded.hpp>

namespace troupe::conformance {
namespace {

bool transposes(blas::storage_op op) {
  return op == blas::storage_op::transpose || op == blas::storage_op::conjugate_transpose;
}

TEST(BlasBanded, GbmvMultiplies) {
  for (const dtype type : classic_types) {
    for (const layout l : column_layouts) {
      for (const blas::storage_op op : storage_ops) {
        for (const auto& [kl, ku] : {std::pair<std::int64_t, std::int64_t>{0, 0}, {2, 1}, {0, 3}}) {
          for (const std::int64_t m : storage_sizes) {
            for (const std::int64_t n : storage_sizes) {
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

template <class Request>
Request banded(const any_tensor& ab, const any_tensor& x, const any_tensor& y) {
  return {.ab = ab, .x = x, .y = y};
}

template <class Request>
Request banded(const any_tensor& ab, const any_tensor& x) {
  return {.ab = ab, .x = x};
}

TEST(BlasBanded, DoNotReadWhatAnAlphaOfZeroWeighs) {
  const auto rows = [](std::int64_t count) {
    return [count](scene& s, dtype type, std::int64_t n, layout l) -> test_tensor& {
      return s.matrix_of(type, count, n, l);
    };
  };
  for (const blas::storage_op op : storage_ops) {
    expect_beta_y(classic_types, column_layouts, rows(4),
                  [&](const any_tensor& ab, const any_tensor& x, const any_tensor& y) {
                    return blas::gbmv{.ab = ab, .x = x, .y = y, .kl = 2, .ku = 1, .op_a = op};
                  });
  }
  const auto product = []<class Request>(const Request&) {
    return [](const any_tensor& ab, const any_tensor& x, const any_tensor& y) {
      return banded<Request>(ab, x, y);
    };
  };
  expect_beta_y(classic_types, column_layouts, rows(3), product(blas::sbmv{}));
  expect_beta_y(complex_types, column_layouts, rows(3), product(blas::hbmv{}));
}

TEST(BlasBanded, SbmvAndHbmvMultiply) {
  for (const std::int64_t k : {0, 1, 3}) {
    check_product(classic_types, false, k, banded<blas::sbmv>);
    check_product(complex_types, true, k, banded<blas::hbmv>);
  }
}

TEST(BlasBanded, TbmvAndTbsvWorkOnOneTriangle) {
  for_each_triangle({0, 1, 3}, multiplies<blas::tbmv>(banded<blas::tbmv>));
  for_each_triangle({0, 1, 3}, solves<blas::tbsv>(banded<blas::tbsv>));
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
           errc::shape_mismatch, "x must have 5 elements (n) because ab is [3, 5]");
  s.refuse(blas::gbmv{.ab = band(dtype::f32, 3, 5, layout::row), .x = x, .y = y, .kl = 1, .ku = 1},
           errc::layout_unsupported, "ab must be column-major");
  s.refuse(blas::sbmv{.ab = band(dtype::f32, 0, 5), .x = x, .y = y}, errc::shape_mismatch,
           "at least one diagonal");
  s.refuse(blas::sbmv{.ab = ab, .x = x, .y = vector(dtype::f64, 5)}, errc::type_mismatch,
           "y must be f32");
}

}  // namespace
}  // namespace troupe::conformance
