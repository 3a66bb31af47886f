#include "matrices.hpp"

#include <troupe/solver/triangular.hpp>

namespace troupe::conformance {
namespace {

struct triangular_case {
  dtype type;
  std::int64_t n;
  arrangement how;
  blas::uplo uplo;
  blas::diag diag;
  bool in_place = false;
};

void expect_inverse(const triangular_case& c) {
  scene s;
  s.name(case_name(c.type, c.n, c.n, c.how) + (c.in_place ? " in place" : ""));
  auto& a = matrices(s, c.type, {2}, c.n, c.n, c.how);
  s.make_solvable(a);
  std::vector<wide_matrix> whole;
  for (std::int64_t i = 0; i < 2; ++i)
    whole.emplace_back(triangular(a.before(i), c.uplo, c.diag));
  s.hide_all_but(a, c.uplo, c.diag);
  auto& inverse = c.in_place ? a : matrices(s, c.type, {2}, c.n, c.n, c.how);
  auto& info = numbers(s, dtype::i32, {2});
  s.run(solver::trtri{
      .a = a.view, .inverse = inverse.view, .info = info.view, .uplo = c.uplo, .diag = c.diag});
  for (std::int64_t i = 0; i < 2; ++i) {
    const wide_matrix& before = whole[static_cast<std::size_t>(i)];
    const matrix now = s.now(inverse, i);
    // A tensor of its own is the inverse as it is; in place, the rest is left alone.
    const wide_matrix found = c.in_place ? triangular(now, c.uplo, c.diag) : now;
    expect_small(
        s, ratio(before * found - identity(c.n), c.n, norm_of(before) * norm_of(found), c.type),
        "a·a⁻¹ − 1");
    for (std::int64_t row = 0; c.in_place && row < c.n; ++row) {
      for (std::int64_t column = 0; column < c.n; ++column) {
        const bool beside = row == column ? c.diag == blas::diag::unit
                                          : (row < column) != (c.uplo == blas::uplo::upper);
        EXPECT_EQ(beside, std::isnan(now(row, column).real())) << s.note();
      }
    }
  }
}

TEST(SolverTriangular, TrtriInverts) {
  for (const dtype type : classic_types) {
    for (const blas::uplo uplo : triangles) {
      for (const blas::diag diag : diagonals) {
        for (const arrangement how : arrangements) {
          for (const std::int64_t n : {0, 1, 2, 33}) {
            for (const bool in_place : {false, true})
              expect_inverse({.type = type,
                              .n = n,
                              .how = how,
                              .uplo = uplo,
                              .diag = diag,
                              .in_place = in_place});
          }
        }
        expect_inverse(
            {.type = type, .n = 150, .how = arrangement::column, .uplo = uplo, .diag = diag});
      }
    }
  }
}

TEST(SolverTriangular, SaysWhichDiagonalElementIsZero) {
  for (const dtype type : classic_types) {
    for (const blas::uplo uplo : triangles) {
      for (const arrangement how : arrangements) {
        scene s;
        auto& a = matrices(s, type, {}, 6, 6, how);
        s.make_solvable(a);
        std::vector<number> values = a.values;
        values[4 * 7] = 0;
        s.fill(a, values);
        auto& inverse = matrices(s, type, {}, 6, 6, how);
        auto& info = numbers(s, dtype::i32, {});
        expect_numerical(
            s,
            s.attempt(solver::trtri{
                .a = a.view, .inverse = inverse.view, .info = info.view, .uplo = uplo}),
            "singular: diagonal element 5 is zero");
        EXPECT_EQ(s.elements_now(info).front(), number(5));
      }
    }
  }
}

TEST(SolverTriangular, RefusesWhatItCannotDo) {
  scene s;
  const auto a = matrices(s, dtype::f64, {}, 3, 3, arrangement::row).view;
  s.refuse(
      solver::trtri{.a = a, .inverse = matrices(s, dtype::f64, {}, 4, 4, arrangement::row).view},
      errc::shape_mismatch, "because a is [3, 3]");
  s.refuse(solver::trtri{.a = a, .inverse = a.transpose()}, errc::aliasing);
  s.refuse(solver::trtri{.a = a}, errc::invalid_argument, "inverse");
}

}  // namespace
}  // namespace troupe::conformance
