#include "conformance/scene.hpp"

#include <troupe/blas/level3_triangular.hpp>

#include <cmath>
#include <limits>

namespace troupe::conformance {
namespace {

template <class Check>
void for_each_case(Check check) {
  for (const dtype type : classic_types) {
    for (const layout la : all_layouts) {
      for (const layout lb : all_layouts) {
        for (const blas::side side : sides) {
          for (const blas::uplo uplo : triangles) {
            for (const blas::diag diag : diagonals) {
              for (const blas::op op : ops) {
                for (const std::int64_t m : {0, 1, 3, 24, 150}) {
                  // The large size, beyond one tile of the kernels, in the plain layouts only.
                  if (m == 150 && (la != lb || la == layout::row_padded)) continue;
                  const std::int64_t n = m == 150 ? 9 : 24 - m;
                  const std::int64_t order = side == blas::side::left ? m : n;
                  scene s;
                  s.name(std::string(to_string(type)) + " m=" + std::to_string(m) + " a " +
                         to_string(la) + " b " + to_string(lb));
                  auto& a = s.matrix_of(type, order, order, la);
                  s.make_solvable(a);
                  s.hide_all_but(a, uplo, diag);
                  auto& b = s.matrix_of(type, m, n, lb);
                  check(s, a, b, side, uplo, diag, op,
                        applied(op, triangular(a.before(), uplo, diag)));
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(BlasTriangular, TrmmMultipliesInEveryLayout) {
  for_each_case([](scene& s, test_tensor& a, test_tensor& b, blas::side side, blas::uplo uplo,
                   blas::diag diag, blas::op op, const matrix& t) {
    const scalar alpha = factor(a.view.type(), 1.25, -0.5);
    s.run(blas::trmm{.a = a.view,
                     .b = b.view,
                     .alpha = alpha,
                     .side = side,
                     .uplo = uplo,
                     .diag = diag,
                     .op_a = op});
    const bool left = side == blas::side::left;
    const matrix product = left ? t * b.before() : b.before() * t;
    const matrix size =
        left ? magnitude(t) * magnitude(b.before()) : magnitude(b.before()) * magnitude(t);
    s.expect(b, as_number(alpha) * product, number(2) * size, t.rows, real_of(a.view.type()));
  });
}

TEST(BlasTriangular, TrsmSolvesInEveryLayout) {
  for_each_case([](scene& s, test_tensor& a, test_tensor& b, blas::side side, blas::uplo uplo,
                   blas::diag diag, blas::op op, const matrix& t) {
    const scalar alpha = factor(a.view.type(), 1.25, -0.5);
    s.run(blas::trsm{.a = a.view,
                     .b = b.view,
                     .alpha = alpha,
                     .side = side,
                     .uplo = uplo,
                     .diag = diag,
                     .op_a = op});
    const matrix right = as_number(alpha) * b.before();
    if (side == blas::side::left) {
      s.expect_solution(b, t, right);
    } else {
      // x · t = b is tᵀ · xᵀ = bᵀ.
      s.expect_solution(b.view.type(), transposed(s.now(b)), transposed(t), transposed(right));
    }
  });
}

TEST(BlasTriangular, AlphaZeroClearsWithoutReading) {
  for (const dtype type : classic_types) {
    for (const bool solve : {false, true}) {
      scene s;
      auto& a = s.matrix_of(type, 5, 5, layout::row);
      auto& b = s.matrix_of(type, 5, 3, layout::column_padded);
      if (solve) {
        s.run(blas::trsm{.a = a.view, .b = b.view, .alpha = 0});
      } else {
        s.run(blas::trmm{.a = a.view, .b = b.view, .alpha = 0});
      }
      s.expect_exactly(b, matrix(5, 3));
    }
  }
}

struct gemmt_case {
  dtype type;
  layout a, b, c;
  blas::op op_a, op_b;
  blas::uplo uplo;
  std::int64_t n, k;
};

void check_gemmt(const gemmt_case& r, bool overwrites) {
  scene s;
  s.name("gemmt " + std::string(to_string(r.type)) + " n=" + std::to_string(r.n) +
         " k=" + std::to_string(r.k) + " a " + to_string(r.a) + " b " + to_string(r.b) + " c " +
         to_string(r.c));
  auto& a = s.matrix_of(r.type, r.n, r.k, r.a);
  auto& b = s.matrix_of(r.type, r.k, r.n, r.b);
  auto& c = s.matrix_of(r.type, r.n, r.n, r.c);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (overwrites) {
    s.fill(c, number(nan, nan));
  } else {
    s.hide_all_but(c, r.uplo);
  }
  const scalar alpha = factor(r.type, 1.25, -0.5);
  const scalar beta = overwrites ? scalar(0) : factor(r.type, -0.75, 2);
  s.run(blas::gemmt{.a = a.view,
                    .b = b.view,
                    .c = c.view,
                    .alpha = alpha,
                    .beta = beta,
                    .uplo = r.uplo,
                    .op_a = r.op_a,
                    .op_b = r.op_b});
  const matrix term =
      as_number(alpha) * (applied(r.op_a, a.before()) * applied(r.op_b, b.before()));
  const matrix size = magnitude(a.before()) * magnitude(b.before());
  const matrix now = s.now(c);
  const matrix old = c.before();
  for (std::int64_t i = 0; i < r.n; ++i) {
    for (std::int64_t j = 0; j < r.n; ++j) {
      if (r.uplo == blas::uplo::upper ? i > j : i < j) {
        if (!std::isnan(now(i, j).real())) ADD_FAILURE() << "the other triangle" << s.note();
        continue;
      }
      const number kept = overwrites ? number(0) : as_number(beta) * old(i, j);
      s.expect_near(r.type, now(i, j), term(i, j) + kept,
                    2 * size(i, j).real() + 3 * std::abs(kept), r.k, real_of(r.type),
                    "[" + std::to_string(i) + ", " + std::to_string(j) + "]");
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(BlasTriangular, GemmtUpdatesOneTriangle) {
  for (const dtype type : classic_types) {
    for (const layout a : all_layouts) {
      for (const layout b : {layout::row, layout::column_padded}) {
        for (const layout c : all_layouts) {
          for (const blas::uplo uplo : triangles) {
            for (const blas::op op_a : ops) {
              for (const blas::op op_b : ops) {
                for (const std::int64_t n : {0, 1, 3, 20}) {
                  for (const std::int64_t k : {0, 1, 20}) {
                    check_gemmt({type, a, b, c, op_a, op_b, uplo, n, k}, k != 1);
                    check_gemmt({type, a, b, c, op_a, op_b, uplo, n, k}, k == 1);
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(BlasTriangular, GemmtGoesBeyondOneBlock) {
  for (const dtype type : classic_types) {
    for (const layout c : all_layouts) {
      for (const blas::uplo uplo : triangles) {
        for (const std::int64_t n : {129, 300}) {
          check_gemmt({type, layout::row, layout::column_padded, c, blas::op::conjugate,
                       blas::op::none, uplo, n, 5},
                      n == 129);
        }
      }
    }
  }
}

TEST(BlasTriangular, RefuseWhatTheyCannotDo) {
  scene s;
  const auto tensor = [&](dtype type, std::int64_t m, std::int64_t n) {
    return s.matrix_of(type, m, n, layout::row).view;
  };
  const auto a = tensor(dtype::f32, 3, 3);
  const auto b = tensor(dtype::f32, 3, 5);
  s.refuse(blas::trmm{.a = a, .b = b, .side = blas::side::right}, errc::shape_mismatch,
           "b must have 3 columns (n) because a is [3, 3]");
  s.refuse(blas::trsm{.a = b, .b = b}, errc::shape_mismatch, "a must have 3 columns (m)");
  s.refuse(blas::trsm{.a = a, .b = tensor(dtype::f64, 3, 5)}, errc::type_mismatch, "; it is f64");
  s.refuse(blas::trsm{.a = a, .b = b, .alpha = number(0, 1)}, errc::invalid_argument,
           "alpha must be real because a is f32; it is 0+1i");
  s.refuse(blas::gemmt{.a = b, .b = tensor(dtype::f32, 5, 3), .c = tensor(dtype::f64, 3, 3)},
           errc::type_mismatch, "; it is f64");
  s.refuse(blas::trsm{.a = a, .b = s.tensor(dtype::f32, {3, 5}, {20, 2}).view},
           errc::layout_unsupported, "strides [20, 2]");
}

}  // namespace
}  // namespace troupe::conformance
