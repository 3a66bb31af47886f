#include "storage_cases.hpp"
#include "zero_alpha_cases.hpp"

#include <troupe/blas/level2_packed.hpp>

#include <limits>

namespace troupe::conformance {
namespace {

template <class Request>
Request packed(const any_tensor& ap, const any_tensor& x, const any_tensor& y) {
  return {.ap = ap, .x = x, .y = y};
}

template <class Request>
Request packed(const any_tensor& ap, const any_tensor& x) {
  return {.ap = ap, .x = x};
}

TEST(BlasPacked, SpmvAndHpmvMultiply) {
  check_product(classic_types, false, -1, packed<blas::spmv>);
  check_product(complex_types, true, -1, packed<blas::hpmv>);
}

TEST(BlasPacked, DoNotReadWhatAnAlphaOfZeroWeighs) {
  const auto triangle = [](scene& s, dtype type, std::int64_t n, layout) -> test_tensor& {
    return s.vector(type, n * (n + 1) / 2);
  };
  const auto product = []<class Request>(const Request&) {
    return [](const any_tensor& ap, const any_tensor& x, const any_tensor& y) {
      return packed<Request>(ap, x, y);
    };
  };
  expect_beta_y(classic_types, column_layouts, triangle, product(blas::spmv{}));
  expect_beta_y(complex_types, column_layouts, triangle, product(blas::hpmv{}));
}

TEST(BlasPacked, TpmvAndTpsvWorkOnOneTriangle) {
  for_each_triangle({-1}, multiplies<blas::tpmv>(packed<blas::tpmv>));
  for_each_triangle({-1}, solves<blas::tpsv>(packed<blas::tpsv>));
}

/// Puts NaN into the imaginary parts of a packed triangle's diagonal.
void hide_imaginary_diagonal(scene& s, test_tensor& ap, std::int64_t n, blas::uplo uplo) {
  std::vector<number> values = ap.values;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t at =
        i + (uplo == blas::uplo::upper ? i * (i + 1) / 2 : i * (2 * n - i - 1) / 2);
    number& v = values[static_cast<std::size_t>(at)];
    v = {v.real(), std::numeric_limits<double>::quiet_NaN()};
  }
  s.fill(ap, values);
}

/// Every update of a packed triangle by x, and y where it has one: `term` is what is added.
template <class Request>
void check_update(std::span<const dtype> types, bool is_hermitian, bool real_alpha,
                  matrix (*term)(number alpha, const matrix& x, const matrix& y)) {
  for (const dtype type : types) {
    for (const blas::uplo uplo : triangles) {
      for (const std::int64_t n : {0, 1, 2, 7, 30, 133}) {
        scene s;
        s.name(std::string(Request::name) + " " + std::string(to_string(type)) +
               " n=" + std::to_string(n));
        auto& ap = s.vector(type, packed_size(n));
        if (is_hermitian) hide_imaginary_diagonal(s, ap, n, uplo);
        auto& x = s.vector(type, n, 2);
        Request r{.x = x.view,
                  .ap = ap.view,
                  .alpha = real_alpha ? scalar(1.5) : factor(type, 1.5, -0.25),
                  .uplo = uplo};
        matrix second = x.before();
        if constexpr (requires { r.y; }) {
          auto& y = s.vector(type, n, 3);
          r.y = y.view;
          second = y.before();
        }
        s.run(r);
        const matrix held = from_packed(ap.before(), n, uplo);
        const matrix old = is_hermitian ? triangular(hermitian(held, uplo), uplo) : held;
        const matrix now = from_packed(s.now(ap), n, uplo);
        const matrix expected =
            old + triangular(term(as_number(r.alpha), x.before(), second), uplo);
        for (std::int64_t i = 0; i < n; ++i) {
          for (std::int64_t j = 0; j < n; ++j)
            s.expect_near(type, now(i, j), expected(i, j), 12, 4, real_of(type), "an element");
          if (is_hermitian) {
            EXPECT_EQ(now(i, i).imag(), 0) << s.note();
          }
        }
      }
    }
  }
}

TEST(BlasPacked, SprAndHprUpdateOneTriangle) {
  check_update<blas::spr>(
      real_types, false, true,
      [](number alpha, const matrix& x, const matrix&) { return alpha * (x * transposed(x)); });
  check_update<blas::hpr>(
      complex_types, true, true,
      [](number alpha, const matrix& x, const matrix&) { return alpha * (x * adjoint(x)); });
}

TEST(BlasPacked, Spr2AndHpr2UpdateOneTriangle) {
  check_update<blas::spr2>(real_types, false, true,
                           [](number alpha, const matrix& x, const matrix& y) {
                             return alpha * (x * transposed(y) + y * transposed(x));
                           });
  check_update<blas::hpr2>(complex_types, true, false,
                           [](number alpha, const matrix& x, const matrix& y) {
                             return alpha * (x * adjoint(y)) + std::conj(alpha) * (y * adjoint(x));
                           });
}

template <class Request>
void check_no_change(std::span<const dtype> types) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const dtype type : types) {
    for (const double alpha : {0.0, 1e-60}) {
      if (alpha != 0 && real_of(type) == dtype::f64) continue;
      scene s;
      s.name(std::string(Request::name) + " " + std::string(to_string(type)));
      auto& ap = s.vector(type, packed_size(7));
      auto& x = s.vector(type, 7, 2);
      s.fill(x, nan);
      Request r{.x = x.view, .ap = ap.view, .alpha = alpha};
      if constexpr (requires { r.y; }) r.y = x.view;
      s.run(r);
      s.expect_exactly(ap, ap.before());
    }
  }
}

TEST(BlasPacked, AnUpdateByAnAlphaOfZeroChangesNothing) {
  check_no_change<blas::spr>(real_types);
  check_no_change<blas::hpr>(complex_types);
  check_no_change<blas::spr2>(real_types);
  check_no_change<blas::hpr2>(complex_types);
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
           "ap must have n(n+1)/2 = 10 elements for n = 4; it has 11");
  s.refuse(blas::spmv{.ap = vector(dtype::f32, 10, 2), .x = x, .y = y}, errc::layout_unsupported,
           "ap must be packed");
  s.refuse(blas::spr{.x = vector(dtype::f32, 5), .ap = ap}, errc::shape_mismatch, "n = 5");
  s.refuse(
      blas::hpr{.x = vector(dtype::c64, 4), .ap = vector(dtype::c64, 10), .alpha = number(1, 1)},
      errc::invalid_argument, "alpha is 1+1i, it must be real");
  s.refuse(blas::tpmv{.ap = ap, .x = vector(dtype::f64, 4)}, errc::type_mismatch, "; it is f64");
  s.refuse(blas::tpsv{.ap = ap, .x = vector(dtype::f32, 5)}, errc::shape_mismatch, "n = 5");
}

}  // namespace
}  // namespace troupe::conformance
