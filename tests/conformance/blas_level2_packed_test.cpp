#include "storage_cases.hpp"
#include "zero_alpha_cases.hpp"

#include <troupe/ops/blas/level2_packed.hpp>

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
  expect_beta_y(classic_types, columns, triangle, product(blas::spmv{}));
  expect_beta_y(complex_types, columns, triangle, product(blas::hpmv{}));
}

TEST(BlasPacked, TpmvAndTpsvWorkOnOneTriangle) {
  for_each_triangle({-1}, multiplies<blas::tpmv>(packed<blas::tpmv>));
  for_each_triangle({-1}, solves<blas::tpsv>(packed<blas::tpsv>));
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
