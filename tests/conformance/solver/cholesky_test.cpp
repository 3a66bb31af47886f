#include "matrices.hpp"

#include <troupe/solver/cholesky.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace troupe::conformance {
namespace {

constexpr std::int64_t cholesky_orders[] = {0, 1, 2, 33};

/// The product of a factor with its adjoint.
wide_matrix squared(const matrix& factor, blas::uplo uplo) {
  const wide_matrix t = triangular(factor, uplo);
  return uplo == blas::uplo::lower ? t * adjoint(t) : adjoint(t) * t;
}

/// A valid factor: with a diagonal that is real, and far from zero.
void make_factor(scene& s, test_tensor& t) {
  s.make_solvable(t);
  std::vector<number> values = t.values;
  const auto n = static_cast<std::size_t>(t.view.extent(t.view.rank() - 1));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % (n * n) % (n + 1) == 0) values[i] = values[i].real();
  }
  s.fill(t, values);
}

struct cholesky_case {
  dtype type;
  std::vector<std::int64_t> batch;
  std::int64_t n;
  arrangement how;
  blas::uplo uplo;
  spectrum what = spectrum::random;
  bool in_place = false;
};

/// Positive definite matrices, of which only what may be read is there.
test_tensor& definite(scene& s, const cholesky_case& c, std::vector<matrix>& whole) {
  auto& a = matrices(s, c.type, c.batch, c.n, c.n, c.how);
  make_hermitian(s, a, c.what, true);
  std::int64_t count = 1;
  for (const std::int64_t extent : c.batch)
    count *= extent;
  for (std::int64_t i = 0; i < count; ++i)
    whole.push_back(a.before(i));
  s.hide_all_but(a, c.uplo, blas::diag::non_unit, is_complex(c.type));
  return a;
}

void expect_factor(const cholesky_case& c) {
  scene s;
  s.name(case_name(c.type, c.n, c.n, c.how, c.what) + (c.in_place ? " in place" : ""));
  std::vector<matrix> whole;
  auto& a = definite(s, c, whole);
  auto& factor = c.in_place ? a : matrices(s, c.type, c.batch, c.n, c.n, c.how);
  auto& info = numbers(s, dtype::i32, c.batch);
  s.run(solver::potrf{.a = a.view, .factor = factor.view, .info = info.view, .uplo = c.uplo});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const matrix found = s.now(factor, static_cast<std::int64_t>(i));
    expect_small(s, ratio(squared(found, c.uplo) - whole[i], c.n, norm_of(whole[i]), c.type),
                 "L·Lᴴ − a");
    for (std::int64_t row = 0; row < c.n; ++row) {
      for (std::int64_t column = 0; column < c.n; ++column) {
        const bool other = c.uplo == blas::uplo::lower ? row < column : row > column;
        if (!other) continue;
        const number beside = found(row, column);
        // The hidden elements are no numbers.
        EXPECT_TRUE(c.in_place ? std::isnan(beside.real()) : beside == number(0)) << s.note();
      }
    }
  }
}

TEST(SolverCholesky, PotrfFactors) {
  for (const dtype type : classic_types) {
    for (const blas::uplo uplo : triangles) {
      for (const arrangement how : arrangements) {
        for (const std::int64_t n : cholesky_orders) {
          expect_factor({.type = type, .batch = {}, .n = n, .how = how, .uplo = uplo});
          expect_factor(
              {.type = type, .batch = {}, .n = n, .how = how, .uplo = uplo, .in_place = true});
        }
        expect_factor({.type = type, .batch = {2, 2}, .n = 5, .how = how, .uplo = uplo});
        expect_factor(
            {.type = type, .batch = {3}, .n = 40, .how = how, .uplo = uplo, .in_place = true});
      }
      for (const spectrum what : spectra) {
        // In types with 24 bits, these are not positive definite any more.
        const bool too_far =
            real_of(type) == dtype::f32 && (what == spectrum::large || what == spectrum::small);
        if (too_far) continue;
        expect_factor({.type = type,
                       .batch = {},
                       .n = 33,
                       .how = arrangement::row,
                       .uplo = uplo,
                       .what = what});
      }
      for (const std::int64_t n : {100, 300})
        expect_factor(
            {.type = type, .batch = {}, .n = n, .how = arrangement::column, .uplo = uplo});
    }
  }
}

TEST(SolverCholesky, PotrsSolves) {
  for (const dtype type : classic_types) {
    for (const blas::uplo uplo : triangles) {
      for (const arrangement how : arrangements) {
        for (const std::int64_t n : cholesky_orders) {
          for (const bool in_place : {false, true}) {
            scene s;
            s.name(case_name(type, n, n, how));
            auto& factor = matrices(s, type, {2}, n, n, how);
            make_factor(s, factor);
            std::vector<wide_matrix> whole;
            for (std::int64_t i = 0; i < 2; ++i)
              whole.push_back(squared(factor.before(i), uplo));
            s.hide_all_but(factor, uplo);
            auto& b = matrices(s, type, {2}, n, 3, how);
            auto& x = in_place ? b : matrices(s, type, {2}, n, 3, arrangement::row);
            s.run(solver::potrs{.factor = factor.view, .b = b.view, .x = x.view, .uplo = uplo});
            for (std::int64_t i = 0; i < 2; ++i) {
              const auto& a = whole[static_cast<std::size_t>(i)];
              const wide_matrix found = s.now(x, i);
              expect_small(s, ratio(a * found - b.before(i), n, norm_of(a) * norm_of(found), type),
                           "a·x − b");
            }
          }
        }
      }
    }
  }
}

TEST(SolverCholesky, PotriInverts) {
  for (const dtype type : classic_types) {
    for (const blas::uplo uplo : triangles) {
      for (const arrangement how : arrangements) {
        for (const std::int64_t n : cholesky_orders) {
          for (const bool in_place : {false, true}) {
            scene s;
            s.name(case_name(type, n, n, how));
            auto& factor = matrices(s, type, {2}, n, n, how);
            make_factor(s, factor);
            std::vector<wide_matrix> whole;
            for (std::int64_t i = 0; i < 2; ++i)
              whole.push_back(squared(factor.before(i), uplo));
            s.hide_all_but(factor, uplo);
            auto& inverse = in_place ? factor : matrices(s, type, {2}, n, n, how);
            s.run(solver::potri{.factor = factor.view, .inverse = inverse.view, .uplo = uplo});
            for (std::int64_t i = 0; i < 2; ++i) {
              const auto& a = whole[static_cast<std::size_t>(i)];
              const wide_matrix found = s.now(inverse, i);
              expect_small(s, ratio(a * found - identity(n), n, norm_of(a) * norm_of(found), type),
                           "a·a⁻¹ − 1");
              EXPECT_EQ(norm_of(found - adjoint(found)), 0) << s.note();
            }
          }
        }
      }
    }
  }
}

TEST(SolverCholesky, PosvSolves) {
  for (const dtype type : classic_types) {
    for (const blas::uplo uplo : triangles) {
      for (const arrangement how : arrangements) {
        for (const std::int64_t n : {0, 1, 33, 100}) {
          scene s;
          s.name(case_name(type, n, n, how));
          std::vector<matrix> whole;
          const std::vector<std::int64_t> batch(n == 33 ? 2 : 0, 2);
          auto& a =
              definite(s, {.type = type, .batch = batch, .n = n, .how = how, .uplo = uplo}, whole);
          auto& b = matrices(s, type, batch, n, 3, arrangement::row);
          auto& x = n == 1 ? b : matrices(s, type, batch, n, 3, how);
          s.run(solver::posv{.a = a.view, .b = b.view, .x = x.view, .uplo = uplo});
          for (std::size_t i = 0; i < whole.size(); ++i) {
            const auto at = static_cast<std::int64_t>(i);
            const wide_matrix found = s.now(x, at);
            expect_small(
                s,
                ratio(whole[i] * found - b.before(at), n, norm_of(whole[i]) * norm_of(found), type),
                "a·x − b");
          }
        }
      }
    }
  }
}

TEST(SolverCholesky, SaysWhichMinorIsNotPositive) {
  for (const dtype type : classic_types) {
    for (const blas::uplo uplo : triangles) {
      for (const arrangement how : arrangements) {
        scene s;
        auto& a = matrices(s, type, {2}, 5, 5, how);
        shape_values(s, a, spectrum::identity);
        std::vector<number> values = a.values;
        values[25 + 12] = -1;  // [2, 2] of the second one
        s.fill(a, values);
        auto& factor = matrices(s, type, {2}, 5, 5, how);
        auto& info = numbers(s, dtype::i32, {2});
        expect_numerical(s,
                         s.attempt(solver::potrf{
                             .a = a.view, .factor = factor.view, .info = info.view, .uplo = uplo}),
                         "matrix 1: not positive definite: leading minor 3");
        EXPECT_EQ(s.elements_now(info), (std::vector<number>{0, 3}));
        EXPECT_EQ(norm_of(wide_matrix(s.now(factor, 0)) - identity(5)), 0);

        scene solve;
        auto& same = matrices(solve, type, {2}, 5, 5, how);
        solve.fill(same, values);
        auto& b = matrices(solve, type, {2}, 5, 1, how);
        expect_numerical(
            solve,
            solve.attempt(solver::posv{.a = same.view, .b = b.view, .x = b.view, .uplo = uplo}),
            "matrix 1: not positive definite: leading minor 3");

        scene invert;
        auto& lower = matrices(invert, type, {}, 3, 3, how);
        invert.fill(lower, {1, 0, 0, 0, 0, 0, 0, 0, 1});
        auto& inverse = matrices(invert, type, {}, 3, 3, how);
        expect_numerical(invert,
                         invert.attempt(solver::potri{
                             .factor = lower.view, .inverse = inverse.view, .uplo = uplo}),
                         "singular: diagonal element 2 is zero");
      }
    }
  }
}

/// The identity with a NaN, which `uplo` has.
void expect_nan_named(dtype type, blas::uplo uplo, std::int64_t n, std::int64_t i, std::int64_t j) {
  const std::vector<std::int64_t> batch{2};
  const std::string message =
      "matrix 1: not positive definite: leading minor " + std::to_string(std::max(i, j) + 1);
  const auto fill = [&](scene& s, test_tensor& a) {
    shape_values(s, a, spectrum::identity);
    std::vector<number> values = a.values;
    if ((uplo == blas::uplo::lower) == (i < j)) std::swap(i, j);
    values[static_cast<std::size_t>(n * n + i * n + j)] = std::numeric_limits<double>::quiet_NaN();
    s.fill(a, values);
    s.name(case_name(type, n, n, arrangement::column));
  };
  for (const bool in_place : {false, true}) {
    scene s;
    auto& a = matrices(s, type, batch, n, n, arrangement::column);
    fill(s, a);
    auto& factor = in_place ? a : matrices(s, type, batch, n, n, arrangement::row);
    auto& info = numbers(s, dtype::i32, batch);
    expect_numerical(s,
                     s.attempt(solver::potrf{
                         .a = a.view, .factor = factor.view, .info = info.view, .uplo = uplo}),
                     message);
    EXPECT_EQ(s.elements_now(info),
              (std::vector<number>{0, static_cast<double>(std::max(i, j) + 1)}));
  }
  scene s;
  auto& a = matrices(s, type, batch, n, n, arrangement::row);
  fill(s, a);
  auto& b = matrices(s, type, batch, n, 2, arrangement::row);
  auto& x = matrices(s, type, batch, n, 2, arrangement::row);
  auto& info = numbers(s, dtype::i32, batch);
  const solver::posv solving{
      .a = a.view, .b = b.view, .x = x.view, .info = info.view, .uplo = uplo};
  expect_numerical(s, s.attempt(solving), message);
  for (const bool other : {false, true}) {
    const double found = std::abs(s.now(x, 0)(n - 1, other) - b.before(0)(n - 1, other));
    EXPECT_EQ(found, 0) << s.note();
  }
}

TEST(SolverCholesky, NamesTheMinorOfANaN) {
  for (const dtype type : classic_types) {
    for (const blas::uplo uplo : triangles) {
      for (const std::int64_t n : {3, 130}) {
        expect_nan_named(type, uplo, n, 0, 0);
        expect_nan_named(type, uplo, n, n / 2, n / 2);
        expect_nan_named(type, uplo, n, n - 1, n / 3);
      }
    }
  }
}

TEST(SolverCholesky, RefusesWhatItCannotDo) {
  scene s;
  const auto a = matrices(s, dtype::f32, {}, 3, 3, arrangement::row).view;
  const auto b = matrices(s, dtype::f32, {}, 3, 2, arrangement::row).view;
  s.refuse(solver::potrf{.a = b, .factor = a}, errc::shape_mismatch, "because a is [3, 2]");
  s.refuse(solver::potrf{.a = a, .factor = a.transpose()}, errc::aliasing);
  s.refuse(solver::posv{.a = a, .b = b, .x = a}, errc::shape_mismatch, "x");
  s.refuse(solver::potrf{.a = a,
                         .factor = matrices(s, dtype::f32, {}, 3, 3, arrangement::row).view,
                         .uplo = static_cast<blas::uplo>(7)},
           errc::invalid_argument, "uplo");
  s.refuse(solver::potri{.factor = matrices(s, dtype::f16, {}, 3, 3, arrangement::row).view,
                         .inverse = a},
           errc::type_mismatch);
}

}  // namespace
}  // namespace troupe::conformance
