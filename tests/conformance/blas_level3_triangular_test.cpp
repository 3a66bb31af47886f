#include "scene.hpp"

#include <troupe/ops/blas/level3_triangular.hpp>

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
      auto& turned = s.again(b, b.view.transpose());
      s.expect_solution(turned, transposed(t), transposed(right));
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

TEST(BlasTriangular, RefuseWhatTheyCannotDo) {
  scene s;
  const auto tensor = [&](dtype type, std::int64_t m, std::int64_t n) {
    return s.matrix_of(type, m, n, layout::row).view;
  };
  const auto a = tensor(dtype::f32, 3, 3);
  const auto b = tensor(dtype::f32, 3, 5);
  s.refuse(blas::trmm{.a = a}, errc::invalid_argument, "b is not given");
  s.refuse(blas::trmm{.a = a, .b = b, .side = blas::side::right}, errc::shape_mismatch,
           "a is [3, 3] but what stands beside b is [5, 5]");
  s.refuse(blas::trsm{.a = b, .b = b}, errc::shape_mismatch, "a must be square");
  s.refuse(blas::trsm{.a = a, .b = a}, errc::aliasing, "b is written");
  s.refuse(blas::trsm{.a = a, .b = tensor(dtype::f64, 3, 5)}, errc::type_mismatch, "b is f64");
  s.refuse(blas::trsm{.a = a, .b = b, .alpha = number(0, 1)}, errc::invalid_argument, "alpha has");
  s.refuse(blas::trsm{.a = a, .b = s.tensor(dtype::f32, {3, 5}, {20, 2}).view},
           errc::layout_unsupported, "strides [20, 2]");
}

}  // namespace
}  // namespace troupe::conformance
