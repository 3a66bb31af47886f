#include "zero_alpha_cases.hpp"

#include <troupe/blas/level2_symmetric.hpp>

#include <cmath>

namespace troupe::conformance {
namespace {

constexpr std::int64_t level2_symmetric_orders[] = {0, 1, 2, 7, 133};

/// Calls `check` for every type, layout, triangle and size, with the matrix's other triangle
/// hidden.
template <class Check>
void for_each_case(std::span<const dtype> types, bool hermitian, Check check) {
  for (const dtype type : types) {
    for (const layout l : all_layouts) {
      for (const blas::uplo uplo : triangles) {
        for (const std::int64_t n : level2_symmetric_orders) {
          scene s;
          s.name(std::string(to_string(type)) + " " + to_string(l) + " n=" + std::to_string(n));
          auto& a = s.matrix_of(type, n, n, l);
          s.hide_all_but(a, uplo, blas::diag::non_unit, hermitian);
          check(s, type, n, a, uplo);
        }
      }
    }
  }
}

template <class Request>
void check_vector_product(std::span<const dtype> types, bool is_hermitian) {
  for (const bool overwrites : {false, true}) {
    for_each_case(
        types, is_hermitian,
        [&](scene& s, dtype type, std::int64_t n, test_tensor& a, blas::uplo uplo) {
          auto& x = s.vector(type, n, 2);
          auto& y = s.vector(type, n);
          const scalar alpha = factor(type, 1.25, -0.5);
          const scalar beta = overwrites ? scalar(0) : factor(type, -0.75, 2);
          s.run(Request{
              .a = a.view, .x = x.view, .y = y.view, .alpha = alpha, .beta = beta, .uplo = uplo});
          const matrix full =
              is_hermitian ? hermitian(a.before(), uplo) : symmetric(a.before(), uplo);
          s.expect(y, as_number(alpha) * (full * x.before()) + as_number(beta) * y.before(),
                   number(2) * (magnitude(full) * magnitude(x.before())) +
                       number(3) * magnitude(y.before()),
                   n, real_of(type));
        });
  }
}

TEST(BlasLevel2, SymvAndHemvReadOneTriangle) {
  check_vector_product<blas::symv>(classic_types, false);
  check_vector_product<blas::hemv>(complex_types, true);
}

matrix outer_size(const test_tensor& x, const test_tensor& y) {
  const matrix one = magnitude(x.before()) * transposed(magnitude(y.before()));
  return one + transposed(one);
}

/// Expects that triangle `uplo` of a is old + term and that the rest is as before. `size` bounds
/// the products that term sums: they may cancel.
void expect_updated(scene& s, const test_tensor& a, blas::uplo uplo, const matrix& old,
                    const matrix& term, const matrix& size) {
  const matrix nothing(old.rows, old.columns);
  const matrix expected = in_triangle(uplo, old + term, nothing);
  const matrix bound = in_triangle(uplo, magnitude(old) + number(4) * size, nothing);
  const matrix now = s.now(a);
  for (std::int64_t i = 0; i < old.rows; ++i) {
    for (std::int64_t j = 0; j < old.columns; ++j) {
      if (uplo == blas::uplo::upper ? i > j : i < j) {
        EXPECT_TRUE(std::isnan(now(i, j).real())) << "the other triangle changed" << s.note();
      } else {
        s.expect_near(a.view.type(), now(i, j), expected(i, j), bound(i, j).real(), 4,
                      real_of(a.view.type()), "an element");
      }
    }
  }
}

TEST(BlasLevel2, SyrAndSyr2UpdateOneTriangle) {
  for_each_case(classic_types, false,
                [](scene& s, dtype type, std::int64_t n, test_tensor& a, blas::uplo uplo) {
                  auto& x = s.vector(type, n, 2);
                  const scalar alpha = factor(type, 1.5, -0.25);
                  s.run(blas::syr{.x = x.view, .a = a.view, .alpha = alpha, .uplo = uplo});
                  expect_updated(s, a, uplo, a.before(),
                                 as_number(alpha) * (x.before() * transposed(x.before())),
                                 outer_size(x, x));
                });
  for_each_case(
      classic_types, false,
      [](scene& s, dtype type, std::int64_t n, test_tensor& a, blas::uplo uplo) {
        auto& x = s.vector(type, n);
        auto& y = s.vector(type, n, 3);
        const scalar alpha = factor(type, 1.5, -0.25);
        s.run(blas::syr2{.x = x.view, .y = y.view, .a = a.view, .alpha = alpha, .uplo = uplo});
        expect_updated(s, a, uplo, a.before(),
                       as_number(alpha) * (x.before() * transposed(y.before()) +
                                           y.before() * transposed(x.before())),
                       outer_size(x, y));
      });
}

TEST(BlasLevel2, HerAndHer2UpdateOneTriangleAndARealDiagonal) {
  for_each_case(complex_types, true,
                [](scene& s, dtype type, std::int64_t n, test_tensor& a, blas::uplo uplo) {
                  auto& x = s.vector(type, n, 2);
                  s.run(blas::her{.x = x.view, .a = a.view, .alpha = 1.5, .uplo = uplo});
                  expect_updated(s, a, uplo, hermitian(a.before(), uplo),
                                 number(1.5) * (x.before() * adjoint(x.before())),
                                 outer_size(x, x));
                });
  for_each_case(
      complex_types, true,
      [](scene& s, dtype type, std::int64_t n, test_tensor& a, blas::uplo uplo) {
        auto& x = s.vector(type, n);
        auto& y = s.vector(type, n, 3);
        const number alpha(1.5, 0.75);
        s.run(blas::her2{.x = x.view, .y = y.view, .a = a.view, .alpha = alpha, .uplo = uplo});
        expect_updated(s, a, uplo, hermitian(a.before(), uplo),
                       alpha * (x.before() * adjoint(y.before())) +
                           std::conj(alpha) * (y.before() * adjoint(x.before())),
                       outer_size(x, y));
      });
}

TEST(BlasLevel2, DeterministicSymvAndHemvGiveTheSameBits) {
  const auto check = [](dtype type, std::int64_t n, auto request) {
    scene s;
    s.name(std::string(to_string(type)) + " n=" + std::to_string(n));
    request.a = s.matrix_of(type, n, n, layout::row).view;
    request.x = s.vector(type, n).view;
    auto& y = s.vector(type, n);
    request.y = y.view;
    request.deterministic = true;
    s.run(request);
    const auto first = s.bytes_now(y);
    for (int again = 0; again < 5; ++again) {
      s.run(request);
      EXPECT_EQ(s.bytes_now(y), first) << s.note();
    }
  };
  for (const std::int64_t n : {130, 1000}) {
    for (const dtype type : classic_types)
      check(type, n, blas::symv{});
    for (const dtype type : complex_types)
      check(type, n, blas::hemv{});
  }
}

template <class Request>
Request dense(const any_tensor& a, const any_tensor& x, const any_tensor& y) {
  return {.a = a, .x = x, .y = y};
}

TEST(BlasLevel2, SymmetricOperationsDoNotReadWhatAnAlphaOfZeroWeighs) {
  expect_beta_y(classic_types, all_layouts, square, dense<blas::symv>);
  expect_beta_y(complex_types, all_layouts, square, dense<blas::hemv>);
  expect_no_change<blas::syr>(classic_types);
  expect_no_change<blas::syr2>(classic_types);
  expect_no_change<blas::her>(complex_types);
  expect_no_change<blas::her2>(complex_types);
}

TEST(BlasLevel2, SymmetricOperationsRefuseWhatTheyCannotDo) {
  scene s;
  const auto tensor = [&](dtype type, std::int64_t m, std::int64_t n) {
    return s.matrix_of(type, m, n, layout::row).view;
  };
  const auto vector = [&](dtype type, std::int64_t n) { return s.vector(type, n).view; };
  const auto a = tensor(dtype::f32, 4, 4);
  const auto x = vector(dtype::f32, 4);
  const auto y = vector(dtype::f32, 4);
  s.refuse(blas::symv{.a = tensor(dtype::f32, 4, 5), .x = x, .y = y}, errc::shape_mismatch,
           "a must have 4 columns (n) because a is [4, 5]");
  s.refuse(blas::syr{.x = vector(dtype::f64, 4), .a = a}, errc::type_mismatch, "; it is f64");
  s.refuse(
      blas::her{.x = vector(dtype::c64, 4), .a = tensor(dtype::c64, 4, 4), .alpha = number(1, 1)},
      errc::invalid_argument, "alpha is 1+1i, it must be real");
  s.refuse(blas::syr2{.x = x, .y = y, .a = a, .alpha = number(1, 1)}, errc::invalid_argument,
           "alpha must be real because a is f32; it is 1+1i");
}

}  // namespace
}  // namespace troupe::conformance
