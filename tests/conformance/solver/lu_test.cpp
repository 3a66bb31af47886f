#include "matrices.hpp"

#include <troupe/solver/lu.hpp>

#include <algorithm>

namespace troupe::conformance {
namespace {

using matrix_size = std::pair<std::int64_t, std::int64_t>;
constexpr matrix_size lu_sizes[] = {{0, 0}, {0, 3}, {3, 0}, {1, 1}, {5, 3}, {3, 5}, {33, 33}};

/// P · L · U of what getrf left.
wide_matrix product_of_factors(const matrix& lu, const matrix& pivots) {
  const std::int64_t k = std::min(lu.rows, lu.columns);
  wide_matrix lower(lu.rows, k);
  wide_matrix upper(k, lu.columns);
  const wide_matrix all = lu;
  for (std::int64_t i = 0; i < lu.rows; ++i) {
    for (std::int64_t j = 0; j < lu.columns; ++j) {
      if (i > j && j < k) lower(i, j) = all(i, j);
      if (i <= j && i < k) upper(i, j) = all(i, j);
    }
  }
  for (std::int64_t i = 0; i < k; ++i)
    lower(i, i) = 1;
  wide_matrix product = lower * upper;
  for (std::int64_t row = k - 1; row >= 0; --row) {
    const auto other = static_cast<std::int64_t>(pivots(row, 0).real()) - 1;
    for (std::int64_t j = 0; j < product.columns; ++j)
      std::swap(product(row, j), product(other, j));
  }
  return product;
}

struct lu_case {
  dtype type;
  std::vector<std::int64_t> batch;
  std::int64_t m;
  std::int64_t n;
  arrangement how;
  spectrum what = spectrum::random;
  bool in_place = false;
};

void expect_factors(const lu_case& c) {
  scene s;
  s.name(case_name(c.type, c.m, c.n, c.how, c.what) + (c.in_place ? " in place" : ""));
  auto& a = matrices(s, c.type, c.batch, c.m, c.n, c.how);
  shape_values(s, a, c.what);
  // Its layout is independent of a's.
  auto& lu = c.in_place ? a
                        : matrices(s, c.type, c.batch, c.m, c.n,
                                   c.how == arrangement::row ? arrangement::column_padded : c.how);
  auto& pivots = vectors(s, dtype::i64, c.batch, std::min(c.m, c.n));
  auto& info = numbers(s, dtype::i32, c.batch);
  const solver::getrf r{.a = a.view, .lu = lu.view, .pivots = pivots.view, .info = info.view};
  // A matrix without full rank may have a pivot that is exactly zero, or none.
  const bool may_fail = c.what == spectrum::deficient || c.what == spectrum::identity;
  if (may_fail) {
    if (const auto answer = s.attempt(r); !answer) {
      EXPECT_EQ(answer.error().code, errc::numerical) << s.note();
    }
  } else {
    s.run(r);
    for (const number& v : s.elements_now(info))
      EXPECT_EQ(v, number(0)) << s.note();
  }
  const auto count = static_cast<std::int64_t>(s.elements_now(info).size());
  for (std::int64_t i = 0; i < count; ++i) {
    const wide_matrix before = a.before(i);
    const matrix places = c.m * c.n == 0 ? matrix() : vector_now(s, pivots, i);
    expect_small(s,
                 ratio(product_of_factors(matrix_now(s, lu, i), places) - before,
                       std::max(c.m, c.n), norm_of(before), c.type),
                 "P·L·U − a");
  }
}

TEST(SolverLu, GetrfFactorsWithPivots) {
  for (const dtype type : classic_types) {
    for (const arrangement how : arrangements) {
      for (const auto& [m, n] : lu_sizes) {
        expect_factors({.type = type, .batch = {}, .m = m, .n = n, .how = how});
        expect_factors({.type = type, .batch = {}, .m = m, .n = n, .how = how, .in_place = true});
      }
    }
    for (const spectrum what : spectra)
      expect_factors(
          {.type = type, .batch = {}, .m = 33, .n = 33, .how = arrangement::column, .what = what});
    for (const std::int64_t n : {100, 300})
      expect_factors({.type = type, .batch = {}, .m = n, .n = n, .how = arrangement::column});
  }
}

TEST(SolverLu, GetrfFactorsBatches) {
  for (const dtype type : classic_types) {
    for (const arrangement how : arrangements) {
      expect_factors({.type = type, .batch = {3}, .m = 5, .n = 7, .how = how});
      expect_factors({.type = type, .batch = {2, 3}, .m = 40, .n = 40, .how = how});
      expect_factors(
          {.type = type, .batch = {2, 1, 2}, .m = 4, .n = 4, .how = how, .in_place = true});
      expect_factors({.type = type, .batch = {0}, .m = 4, .n = 4, .how = how});
    }
  }
}

/// Factors a's copies and leaves the factors in tensors of their own.
struct factored {
  scene s;
  test_tensor* a;
  std::vector<number> lu;
  std::vector<number> pivots;

  factored(dtype type, const std::vector<std::int64_t>& batch, std::int64_t n) {
    a = &matrices(s, type, batch, n, n, arrangement::column);
    shape_values(s, *a, spectrum::random);
    s.make_solvable(*a);
    auto& factors = matrices(s, type, batch, n, n, arrangement::column);
    auto& places = vectors(s, dtype::i64, batch, n);
    s.run(solver::getrf{.a = a->view, .lu = factors.view, .pivots = places.view});
    lu = s.elements_now(factors);
    pivots = s.elements_now(places);
  }
};

void expect_solution(scene& s, const matrix& a, const matrix& x, const matrix& b, dtype type) {
  expect_small(s, ratio(wide_matrix(a) * x - b, a.rows, norm_of(a) * norm_of(x), type), "a·x − b");
}

TEST(SolverLu, GetrsSolves) {
  for (const dtype type : classic_types) {
    for (const arrangement how : arrangements) {
      for (const std::int64_t n : {0, 1, 33}) {
        const factored f(type, {}, n);
        for (const blas::storage_op op : storage_ops) {
          if (op == blas::storage_op::conjugate) continue;
          for (const bool in_place : {false, true}) {
            scene s;
            s.name(case_name(type, n, n, how));
            auto& lu = matrices(s, type, {}, n, n, how);
            auto& pivots = vectors(s, dtype::i64, {}, n);
            auto& b = matrices(s, type, {}, n, 4, how);
            auto& x = in_place ? b : matrices(s, type, {}, n, 4, arrangement::row);
            s.fill(lu, f.lu);
            s.fill(pivots, f.pivots);
            s.run(solver::getrs{
                .lu = lu.view, .pivots = pivots.view, .b = b.view, .x = x.view, .op_a = op});
            expect_solution(s, applied(op, f.a->before()), s.now(x), b.before(), type);
          }
        }
      }
    }
  }
}

TEST(SolverLu, GetriInverts) {
  for (const dtype type : classic_types) {
    for (const arrangement how : arrangements) {
      for (const std::int64_t n : {0, 1, 33, 100}) {
        if (n == 100 && how != arrangement::column) continue;
        const std::vector<std::int64_t> batch{2};
        const factored f(type, batch, n);
        scene s;
        s.name(case_name(type, n, n, how));
        auto& lu = matrices(s, type, batch, n, n, how);
        auto& pivots = vectors(s, dtype::i64, batch, n);
        auto& inverse = matrices(s, type, batch, n, n, how);
        s.fill(lu, f.lu);
        s.fill(pivots, f.pivots);
        s.run(solver::getri{.lu = lu.view, .pivots = pivots.view, .inverse = inverse.view});
        for (std::int64_t i = 0; i < 2; ++i) {
          const wide_matrix a = f.a->before(i);
          const wide_matrix found = s.now(inverse, i);
          expect_small(s, ratio(a * found - identity(n), n, norm_of(a) * norm_of(found), type),
                       "a·a⁻¹ − 1");
        }
      }
    }
  }
}

TEST(SolverLu, GesvSolves) {
  for (const dtype type : classic_types) {
    for (const arrangement how : arrangements) {
      for (const std::int64_t n : {0, 1, 33, 300}) {
        if (n == 300 && how != arrangement::column) continue;
        for (const bool in_place : {false, true}) {
          const std::vector<std::int64_t> batch(n == 33 ? 1 : 0, 2);
          scene s;
          s.name(case_name(type, n, n, how));
          auto& a = matrices(s, type, batch, n, n, how);
          auto& b = matrices(s, type, batch, n, 3, arrangement::row);
          auto& x = in_place ? b : matrices(s, type, batch, n, 3, how);
          auto& info = numbers(s, dtype::i32, batch);
          s.run(solver::gesv{.a = a.view, .b = b.view, .x = x.view, .info = info.view});
          const std::int64_t count = batch.empty() ? 1 : batch.front();
          for (std::int64_t i = 0; i < count; ++i)
            expect_solution(s, a.before(i), s.now(x, i), b.before(i), type);
        }
      }
    }
  }
}

TEST(SolverLu, SaysWhichPivotIsZero) {
  for (const dtype type : classic_types) {
    scene s;
    auto& a = matrices(s, type, {}, 9, 9, arrangement::column);
    std::vector<number> values = a.values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % 9 == 6) values[i] = 0;  // a column of zeros
    }
    s.fill(a, values);
    auto& lu = matrices(s, type, {}, 9, 9, arrangement::row);
    auto& pivots = vectors(s, dtype::i64, {}, 9);
    auto& info = numbers(s, dtype::i32, {});
    expect_numerical(s,
                     s.attempt(solver::getrf{
                         .a = a.view, .lu = lu.view, .pivots = pivots.view, .info = info.view}),
                     "singular: pivot 7 is zero");
    EXPECT_EQ(s.elements_now(info).front(), number(7));
    // The factors are complete all the same.
    const wide_matrix before = a.before();
    expect_small(s,
                 ratio(product_of_factors(s.now(lu), vector_now(s, pivots)) - before, 9,
                       norm_of(before), type),
                 "P·L·U − a");

    scene solve;
    auto& same = matrices(solve, type, {}, 9, 9, arrangement::row);
    solve.fill(same, values);
    auto& b = matrices(solve, type, {}, 9, 2, arrangement::row);
    auto& x = matrices(solve, type, {}, 9, 2, arrangement::row);
    expect_numerical(solve, solve.attempt(solver::gesv{.a = same.view, .b = b.view, .x = x.view}),
                     "singular: pivot 7 is zero");
  }
}

TEST(SolverLu, NamesTheFirstBadMatrixOfABatchAndSolvesTheOthers) {
  scene s;
  const std::vector<std::int64_t> batch{2, 3};
  auto& a = matrices(s, dtype::f64, batch, 4, 4, arrangement::row_padded);
  s.make_solvable(a);
  std::vector<number> values = a.values;
  for (const std::size_t bad : {3U, 5U}) {
    for (std::size_t i = 0; i < 16; ++i) {
      if (i % 4 == 1) values[16 * bad + i] = 0;
    }
  }
  s.fill(a, values);
  auto& b = matrices(s, dtype::f64, batch, 4, 2, arrangement::column);
  auto& x = matrices(s, dtype::f64, batch, 4, 2, arrangement::row);
  auto& info = numbers(s, dtype::i32, batch);
  expect_numerical(
      s, s.attempt(solver::gesv{.a = a.view, .b = b.view, .x = x.view, .info = info.view}),
      "matrix 3: singular: pivot 2 is zero");
  EXPECT_EQ(s.elements_now(info), (std::vector<number>{0, 0, 0, 2, 0, 2}));
  for (const std::int64_t good : {0, 1, 2, 4})
    expect_solution(s, a.before(good), s.now(x, good), b.before(good), dtype::f64);

  scene inverts;
  auto& lu = matrices(inverts, dtype::f64, {1}, 3, 3, arrangement::column);
  inverts.fill(lu, {1, 2, 3, 0.5, 0, 1, 0.5, 0.5, 2});  // U[1, 1] is zero
  auto& pivots = vectors(inverts, dtype::i64, {1}, 3);
  inverts.fill(pivots, {1, 2, 3});
  auto& inverse = matrices(inverts, dtype::f64, {1}, 3, 3, arrangement::column);
  expect_numerical(
      inverts,
      inverts.attempt(solver::getri{.lu = lu.view, .pivots = pivots.view, .inverse = inverse.view}),
      "matrix 0: singular: pivot 2 is zero");
}

TEST(SolverLu, RefusesWhatItCannotDo) {
  scene s;
  const auto f32 = dtype::f32;
  const auto a = matrices(s, f32, {2}, 3, 3, arrangement::row).view;
  const auto other = matrices(s, f32, {2}, 3, 3, arrangement::row).view;
  const auto pivots = vectors(s, dtype::i64, {2}, 3).view;
  const auto b = matrices(s, f32, {2}, 3, 2, arrangement::row).view;
  const auto x = matrices(s, f32, {2}, 3, 2, arrangement::row).view;
  s.refuse(solver::getrf{.a = a, .lu = other, .pivots = vectors(s, dtype::i64, {2}, 4).view},
           errc::shape_mismatch, "because a is [2, 3, 3]");
  s.refuse(solver::getrf{.a = a, .lu = other, .pivots = vectors(s, dtype::i32, {2}, 3).view},
           errc::type_mismatch, "pivots");
  s.refuse(solver::getrf{.a = vectors(s, f32, {}, 3).view, .lu = other, .pivots = pivots},
           errc::shape_mismatch, "a must have rank 2 to 8");
  s.refuse(solver::gesv{.a = a, .b = matrices(s, f32, {3}, 3, 2, arrangement::row).view, .x = x},
           errc::shape_mismatch, "leading extents [2] (batch)");
  s.refuse(
      solver::gesv{.a = a, .b = b, .x = matrices(s, dtype::f64, {2}, 3, 2, arrangement::row).view},
      errc::type_mismatch);
  s.refuse(
      solver::getrs{.lu = a, .pivots = pivots, .b = b, .x = x, .op_a = blas::storage_op::conjugate},
      errc::unsupported, "op_a is conjugate");
  s.refuse(solver::gesv{.a = a, .b = b, .x = b.transpose()}, errc::shape_mismatch);
  s.refuse(solver::getrf{.a = a, .lu = a.transpose(), .pivots = pivots}, errc::aliasing,
           "lu is written and must not overlap a");

  // A bad pivot is data, so it is found when the request runs, and followed nowhere.
  auto& wild = vectors(s, dtype::i64, {2}, 3);
  s.fill(wild, {1, 2, 3, 1, 1000000, 3});
  const auto answer = s.attempt(solver::getrs{.lu = a, .pivots = wild.view, .b = b, .x = x});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, errc::invalid_argument);
  EXPECT_EQ(answer.error().message, "matrix 1: pivots[1] is 1000000, not within 1 and 3");
}

}  // namespace
}  // namespace troupe::conformance
