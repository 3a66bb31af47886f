#include "zero_alpha_cases.hpp"

#include <troupe/blas/level2.hpp>

#include <limits>

namespace troupe::conformance {
namespace {

constexpr std::int64_t level2_sizes[] = {0, 1, 2, 7, 133};

TEST(BlasLevel2, GemvMultipliesInEveryLayout) {
  for (const dtype type : classic_types) {
    for (const layout l : all_layouts) {
      for (const blas::op op : ops) {
        for (const std::int64_t m : level2_sizes) {
          for (const std::int64_t n : level2_sizes) {
            for (const bool overwrites : {false, true}) {
              scene s;
              s.name(std::string(to_string(type)) + " " + to_string(l) + " m=" + std::to_string(m) +
                     " n=" + std::to_string(n));
              auto& a = s.matrix_of(type, m, n, l);
              auto& x = s.vector(type, n, 1 + overwrites);
              auto& y = s.vector(type, m, 3);
              const scalar alpha = factor(type, 1.25, -0.5);
              const scalar beta = overwrites ? scalar(0) : factor(type, -0.75, 2);
              s.run(blas::gemv{
                  .a = a.view, .x = x.view, .y = y.view, .alpha = alpha, .beta = beta, .op_a = op});
              const matrix product = as_number(alpha) * (applied(op, a.before()) * x.before());
              const matrix bound = number(2) * (magnitude(a.before()) * magnitude(x.before())) +
                                   number(3) * magnitude(y.before());
              s.expect(y, product + as_number(beta) * y.before(), bound, n, real_of(type));
            }
          }
        }
      }
    }
  }
}

TEST(BlasLevel2, GemvDoesNotReadWhatABetaTooSmallForItsTypeWeighs) {
  for (const dtype type : {dtype::f32, dtype::c64}) {
    for (const layout l : all_layouts) {
      for (const std::int64_t n : {0, 7, 133}) {
        scene s;
        auto& a = s.matrix_of(type, 7, n, l);
        auto& x = s.vector(type, n);
        auto& y = s.vector(type, 7, 2);
        s.fill(y, std::numeric_limits<double>::quiet_NaN());
        s.run(blas::gemv{.a = a.view, .x = x.view, .y = y.view, .beta = 1e-60});
        s.expect(y, a.before() * x.before(),
                 number(2) * (magnitude(a.before()) * magnitude(x.before())), n, dtype::f32);
      }
    }
  }
}

template <class Request>
void check_outer(std::span<const dtype> types, matrix (*turned)(const matrix&)) {
  for (const dtype type : types) {
    for (const layout l : all_layouts) {
      for (const std::int64_t m : level2_sizes) {
        for (const std::int64_t n : level2_sizes) {
          scene s;
          auto& x = s.vector(type, m, 2);
          auto& y = s.vector(type, n);
          auto& a = s.matrix_of(type, m, n, l);
          const scalar alpha = factor(type, 1.5, -0.25);
          s.run(Request{.x = x.view, .y = y.view, .a = a.view, .alpha = alpha});
          const matrix term = as_number(alpha) * (x.before() * turned(y.before()));
          s.expect(a, term + a.before(), magnitude(term) + magnitude(a.before()), 2, real_of(type));
        }
      }
    }
  }
}

TEST(BlasLevel2, GerGeruAndGercAddOuterProducts) {
  check_outer<blas::ger>(real_types, transposed);
  check_outer<blas::geru>(complex_types, transposed);
  check_outer<blas::gerc>(complex_types, adjoint);
}

TEST(BlasLevel2, DoesNotReadWhatAnAlphaOfZeroWeighs) {
  for (const blas::op op : ops) {
    expect_beta_y(classic_types, all_layouts, square,
                  [&](const any_tensor& a, const any_tensor& x, const any_tensor& y) {
                    return blas::gemv{.a = a, .x = x, .y = y, .op_a = op};
                  });
  }
  expect_no_change<blas::ger>(real_types);
  expect_no_change<blas::geru>(complex_types);
  expect_no_change<blas::gerc>(complex_types);
}

TEST(BlasLevel2, TrmvAndTrsvReadOneTriangle) {
  for (const dtype type : classic_types) {
    for (const layout l : all_layouts) {
      for (const blas::op op : ops) {
        for (const blas::uplo uplo : triangles) {
          for (const blas::diag diag : diagonals) {
            for (const std::int64_t n : level2_sizes) {
              const auto on_triangle = [&](auto check) {
                scene s;
                s.name(std::string(to_string(type)) + " " + to_string(l) +
                       " n=" + std::to_string(n));
                auto& a = s.matrix_of(type, n, n, l);
                auto& x = s.vector(type, n, 2);
                s.make_solvable(a);
                s.hide_all_but(a, uplo, diag);
                check(s, a, x, applied(op, triangular(a.before(), uplo, diag)));
              };
              on_triangle([&](scene& s, auto& a, auto& x, const matrix& t) {
                s.run(blas::trmv{.a = a.view, .x = x.view, .uplo = uplo, .diag = diag, .op_a = op});
                s.expect(x, t * x.before(), magnitude(t) * magnitude(x.before()), n, real_of(type));
              });
              on_triangle([&](scene& s, auto& a, auto& x, const matrix& t) {
                s.run(blas::trsv{.a = a.view, .x = x.view, .uplo = uplo, .diag = diag, .op_a = op});
                s.expect_solution(x, t, x.before());
              });
            }
          }
        }
      }
    }
  }
}

TEST(BlasLevel2, RefusesWhatItCannotDo) {
  scene s;
  const auto tensor = [&](dtype type, std::int64_t m, std::int64_t n) {
    return s.matrix_of(type, m, n, layout::row).view;
  };
  const auto vector = [&](dtype type, std::int64_t n) { return s.vector(type, n).view; };
  const auto a = tensor(dtype::f32, 3, 4);
  const auto x = vector(dtype::f32, 4);
  const auto y = vector(dtype::f32, 3);
  s.refuse(blas::gemv{.a = a, .x = x, .y = vector(dtype::f64, 3)}, errc::type_mismatch,
           "; it is f64");
  s.refuse(blas::gemv{.a = s.tensor(dtype::f32, {3, 4}, {9, 2}).view, .x = x, .y = y},
           errc::layout_unsupported, "strides [9, 2]");
  s.refuse(blas::gemv{.a = a, .x = x, .y = y, .beta = number(0, 1)}, errc::invalid_argument,
           "beta must be real because a is f32; it is 0+1i");
  s.refuse(blas::ger{.x = y, .y = x, .a = tensor(dtype::f32, 4, 4)}, errc::shape_mismatch,
           "a must have 3 rows (m) because x is [3]");
  s.refuse(blas::trsv{.a = tensor(dtype::f64, 4, 4), .x = x}, errc::type_mismatch, "; it is f32");
}

}  // namespace
}  // namespace troupe::conformance
