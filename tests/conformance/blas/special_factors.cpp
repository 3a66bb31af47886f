#include "factor_cases.hpp"
#include "storage_cases.hpp"

#include <troupe/blas/batched.hpp>
#include <troupe/blas/level1.hpp>
#include <troupe/blas/level2.hpp>
#include <troupe/blas/level2_banded.hpp>
#include <troupe/blas/level2_packed.hpp>
#include <troupe/blas/level2_symmetric.hpp>
#include <troupe/blas/level3.hpp>
#include <troupe/blas/level3_symmetric.hpp>
#include <troupe/blas/level3_triangular.hpp>

namespace troupe::conformance {
namespace {

constexpr written_part hermitian_triangle{.triangle = true, .hermitian = true, .real_alpha = true};
constexpr written_part hermitian_of_two{.triangle = true, .hermitian = true};

TEST(BlasFactors, OfLevel1SpoilOrAreNotRead) {
  check_factors(classic_and_half_types, everything,
                [](scene& s, dtype type, std::int64_t n, layout) {
                  auto& x = s.vector(type, n);
                  return weighed<blas::scal>{{.x = x.view}, x, {}};
                });
  check_factors(classic_and_half_types, everything,
                [](scene& s, dtype type, std::int64_t n, layout) {
                  auto& x = s.vector(type, n, 2);
                  auto& y = s.vector(type, n);
                  return weighed<blas::axpy>{{.x = x.view, .y = y.view}, y, {&x}};
                });
  check_factors(classic_and_half_types, everything,
                [](scene& s, dtype type, std::int64_t n, layout) {
                  auto& x = s.vector(type, n, 2);
                  auto& y = s.vector(type, n);
                  return weighed<blas::axpby>{{.x = x.view, .y = y.view}, y, {&x}};
                });
}

/// A matrix and two vectors.
template <class Request>
weighed<Request> product_with_vector(scene& s, dtype type, std::int64_t n, layout l) {
  auto& a = s.matrix_of(type, n, n, l);
  auto& x = s.vector(type, n, 2);
  auto& y = s.vector(type, n);
  return {{.a = a.view, .x = x.view, .y = y.view}, y, {&a, &x}};
}

/// A matrix that a product of vectors is added to.
template <class Request>
weighed<Request> outer_product(scene& s, dtype type, std::int64_t n, layout l) {
  auto& x = s.vector(type, n, 2);
  auto& a = s.matrix_of(type, n, n, l);
  Request r{.x = x.view, .a = a.view};
  if constexpr (requires { r.y; }) r.y = s.vector(type, n).view;
  return {std::move(r), a, {}};
}

TEST(BlasFactors, OfLevel2SpoilOrAreNotRead) {
  check_factors(classic_types, everything, product_with_vector<blas::gemv>);
  check_factors(classic_types, everything, product_with_vector<blas::symv>);
  check_factors(complex_types, everything, product_with_vector<blas::hemv>);
  check_factors(real_types, everything, outer_product<blas::ger>);
  check_factors(complex_types, everything, outer_product<blas::geru>);
  check_factors(complex_types, everything, outer_product<blas::gerc>);
  check_factors(classic_types, one_triangle, outer_product<blas::syr>);
  check_factors(classic_types, one_triangle, outer_product<blas::syr2>);
  check_factors(complex_types, hermitian_triangle, outer_product<blas::her>);
  check_factors(complex_types, hermitian_of_two, outer_product<blas::her2>);
}

template <class Request>
weighed<Request> banded_product(scene& s, dtype type, std::int64_t n, layout) {
  auto& ab = s.matrix_of(type, 3, n, layout::column_padded);
  auto& x = s.vector(type, n, 2);
  auto& y = s.vector(type, n);
  Request r{.ab = ab.view, .x = x.view, .y = y.view};
  if constexpr (requires { r.kl; }) r.kl = r.ku = 1;
  return {std::move(r), y, {&ab, &x}};
}

template <class Request>
weighed<Request> packed_product(scene& s, dtype type, std::int64_t n, layout) {
  auto& ap = s.vector(type, packed_size(n));
  auto& x = s.vector(type, n, 2);
  auto& y = s.vector(type, n);
  return {{.ap = ap.view, .x = x.view, .y = y.view}, y, {&ap, &x}};
}

template <class Request>
weighed<Request> packed_update(scene& s, dtype type, std::int64_t n, layout) {
  auto& x = s.vector(type, n, 2);
  auto& ap = s.vector(type, packed_size(n));
  Request r{.x = x.view, .ap = ap.view};
  if constexpr (requires { r.y; }) r.y = s.vector(type, n).view;
  return {std::move(r), ap, {}};
}

TEST(BlasFactors, OfBandsAndPackedTrianglesSpoilOrAreNotRead) {
  check_factors(classic_types, everything, banded_product<blas::gbmv>);
  check_factors(classic_types, everything, banded_product<blas::sbmv>);
  check_factors(complex_types, everything, banded_product<blas::hbmv>);
  check_factors(classic_types, everything, packed_product<blas::spmv>);
  check_factors(complex_types, everything, packed_product<blas::hpmv>);
  constexpr written_part hermitian{
      .triangle = true, .packed = true, .hermitian = true, .real_alpha = true};
  constexpr written_part of_two{.triangle = true, .packed = true, .hermitian = true};
  check_factors(real_types, everything, packed_update<blas::spr>);
  check_factors(real_types, everything, packed_update<blas::spr2>);
  check_factors(complex_types, hermitian, packed_update<blas::hpr>);
  check_factors(complex_types, of_two, packed_update<blas::hpr2>);
}

/// Three matrices.
template <class Request>
weighed<Request> product_of_two(scene& s, dtype type, std::int64_t n, layout l) {
  auto& a = s.matrix_of(type, n, n, l);
  auto& b = s.matrix_of(type, n, n, l);
  auto& c = s.matrix_of(type, n, n, l);
  return {{.a = a.view, .b = b.view, .c = c.view}, c, {&a, &b}};
}

template <class Request>
weighed<Request> product_with_itself(scene& s, dtype type, std::int64_t n, layout l) {
  auto& a = s.matrix_of(type, n, n, l);
  auto& c = s.matrix_of(type, n, n, l);
  return {{.a = a.view, .c = c.view}, c, {&a}};
}

template <class Request>
weighed<Request> with_triangle(scene& s, dtype type, std::int64_t n, layout l) {
  auto& a = s.matrix_of(type, n, n, l);
  s.make_solvable(a);
  auto& b = s.matrix_of(type, n, n, l);
  return {{.a = a.view, .b = b.view}, b, {}};
}

TEST(BlasFactors, OfLevel3SpoilOrAreNotRead) {
  check_factors(classic_and_half_types, everything, product_of_two<blas::gemm>);
  check_factors(classic_types, everything, product_of_two<blas::geam>);
  check_factors(classic_types, everything, product_of_two<blas::symm>);
  check_factors(complex_types, everything, product_of_two<blas::hemm>);
  check_factors(classic_types, everything, with_triangle<blas::trmm>);
  check_factors(classic_types, everything, with_triangle<blas::trsm>);
}

TEST(BlasFactors, OfUpdatedTrianglesSpoilOrAreNotRead) {
  check_factors(classic_types, one_triangle, product_of_two<blas::gemmt>);
  check_factors(classic_types, one_triangle, product_with_itself<blas::syrk>);
  check_factors(classic_types, one_triangle, product_of_two<blas::syr2k>);
  check_factors(complex_types, hermitian_triangle, product_with_itself<blas::herk>);
  check_factors(complex_types, hermitian_of_two, product_of_two<blas::her2k>);
}

TEST(BlasFactors, OfBatchesSpoilOrAreNotRead) {
  check_factors(classic_and_half_types, everything,
                [](scene& s, dtype type, std::int64_t n, layout l) {
                  auto& a = s.batch(type, 2, n, n, l);
                  auto& b = s.batch(type, 2, n, n, l);
                  auto& c = s.batch(type, 2, n, n, l);
                  return weighed<blas::gemm_strided_batched>{
                      {.a = a.view, .b = b.view, .c = c.view}, c, {&a, &b}};
                });
  check_factors(classic_and_half_types, everything,
                [](scene& s, dtype type, std::int64_t n, layout l) {
                  auto& a = s.matrix_of(type, n, n, l);
                  auto& b = s.matrix_of(type, n, n, l);
                  auto& c = s.matrix_of(type, n, n, l);
                  return weighed<blas::gemm_batched>{
                      {.a = {a.view}, .b = {b.view}, .c = {c.view}}, c, {&a, &b}};
                });
  check_factors(classic_and_half_types, everything,
                [](scene& s, dtype type, std::int64_t n, layout l) {
                  auto& a = s.matrix_of(type, n, n, l);
                  auto& b = s.matrix_of(type, n, n, l);
                  auto& c = s.matrix_of(type, n, n, l);
                  return weighed<blas::gemm_grouped>{
                      {.a = {a.view}, .b = {b.view}, .c = {c.view}}, c, {&a, &b}};
                });
  check_factors(classic_types, everything, [](scene& s, dtype type, std::int64_t n, layout l) {
    auto& a = s.batch(type, 2, n, n, l);
    auto& x = s.matrix_of(type, 2, n, layout::row);
    auto& y = s.matrix_of(type, 2, n, layout::row_padded);
    return weighed<blas::gemv_batched>{{.a = a.view, .x = x.view, .y = y.view}, y, {&a, &x}};
  });
  check_factors(classic_types, everything, [](scene& s, dtype type, std::int64_t n, layout l) {
    auto& a = s.batch(type, 2, n, n, l);
    s.make_solvable(a);
    auto& b = s.batch(type, 2, n, n, l);
    return weighed<blas::trsm_batched>{{.a = a.view, .b = b.view}, b, {}};
  });
}

}  // namespace
}  // namespace troupe::conformance
