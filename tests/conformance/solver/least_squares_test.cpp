#include "matrices.hpp"

#include <troupe/solver/least_squares.hpp>

#include <algorithm>

namespace troupe::conformance {
namespace {

using solver::least_squares_driver;
constexpr least_squares_driver least_squares_drivers[] = {least_squares_driver::qr,
                                                          least_squares_driver::svd};

struct gels_case {
  dtype type;
  std::vector<std::int64_t> batch;
  std::int64_t m;
  std::int64_t n;
  arrangement how;
  least_squares_driver driver;
  spectrum what = spectrum::random;
};

/// x is a least-squares solution if the residual is orthogonal to a's columns, and the shortest if
/// x lies in the space of a's rows, which is looked at by an orthonormal basis of what is beside
/// it.
void expect_least_squares(const gels_case& c) {
  scene s;
  s.name(case_name(c.type, c.m, c.n, c.how, c.what));
  auto& a = matrices(s, c.type, c.batch, c.m, c.n, c.how);
  shape_values(s, a, c.what);
  auto& b = matrices(s, c.type, c.batch, c.m, 3, arrangement::row);
  auto& x = matrices(s, c.type, c.batch, c.n, 3, c.how);
  auto& info = numbers(s, dtype::i32, c.batch);
  solver::gels r{.a = a.view, .b = b.view, .x = x.view, .info = info.view, .driver = c.driver};
  test_tensor* rank = nullptr;
  if (c.driver == least_squares_driver::svd) {
    rank = &numbers(s, dtype::i32, c.batch);
    r.rank = rank->view;
    r.rcond = real_of(c.type) == dtype::f32 ? 1e-5 : 1e-12;
  }
  s.run(r);
  std::int64_t count = 1;
  for (const std::int64_t extent : c.batch)
    count *= extent;
  const std::int64_t k = std::min(c.m, c.n);
  const std::int64_t full = c.what == spectrum::deficient ? (k + 1) / 2 : k;
  for (std::int64_t i = 0; i < count; ++i) {
    const wide_matrix before = a.before(i);
    const wide_matrix sides = b.before(i);
    const wide_matrix found = s.now(x, i);
    const wide_matrix off = before * found - sides;
    const long double size = norm_of(before) * norm_of(found) + norm_of(sides);
    expect_small(s,
                 ratio(adjoint(before) * off, std::max(c.m, c.n), norm_of(before) * size, c.type),
                 "aᴴ·(a·x − b)");
    if (c.m < c.n && full == k)
      expect_small(s, ratio(off, std::max(c.m, c.n), size, c.type), "a·x − b");
    if (rank != nullptr) {
      EXPECT_EQ(s.elements_now(*rank)[static_cast<std::size_t>(i)],
                number(static_cast<double>(full)))
          << s.note();
    }
  }
}

TEST(SolverLeastSquares, GelsFindsThem) {
  using size = std::pair<std::int64_t, std::int64_t>;
  for (const dtype type : classic_types) {
    for (const least_squares_driver driver : least_squares_drivers) {
      for (const arrangement how : arrangements) {
        for (const auto& [m, n] : {size{0, 0}, {0, 3}, {3, 0}, {1, 1}, {9, 4}, {4, 9}, {33, 33}}) {
          expect_least_squares(
              {.type = type, .batch = {}, .m = m, .n = n, .how = how, .driver = driver});
        }
        expect_least_squares(
            {.type = type, .batch = {2, 2}, .m = 7, .n = 3, .how = how, .driver = driver});
      }
      expect_least_squares({.type = type,
                            .batch = {},
                            .m = 300,
                            .n = 100,
                            .how = arrangement::column,
                            .driver = driver});
    }
    for (const auto& [m, n] : {size{20, 12}, {12, 20}, {15, 15}}) {
      expect_least_squares({.type = type,
                            .batch = {},
                            .m = m,
                            .n = n,
                            .how = arrangement::row,
                            .driver = least_squares_driver::svd,
                            .what = spectrum::deficient});
      expect_least_squares({.type = type,
                            .batch = {},
                            .m = m,
                            .n = n,
                            .how = arrangement::row,
                            .driver = least_squares_driver::qr,
                            .what = spectrum::repeated});
    }
  }
}

TEST(SolverLeastSquares, OfSeveralSolutionsFindsTheShortest) {
  for (const dtype type : classic_types) {
    for (const least_squares_driver driver : least_squares_drivers) {
      scene s;
      // For x[0] + x[1] = 2, or two such equations, [1, 1] is the shortest.
      const std::int64_t m = driver == least_squares_driver::svd ? 2 : 1;
      auto& a = matrices(s, type, {}, m, 2, arrangement::row);
      auto& b = matrices(s, type, {}, m, 1, arrangement::row);
      auto& x = matrices(s, type, {}, 2, 1, arrangement::row);
      s.fill(a, number(1));
      s.fill(b, number(2));
      s.run(solver::gels{.a = a.view, .b = b.view, .x = x.view, .driver = driver});
      for (const number& v : s.elements_now(x))
        EXPECT_LT(std::abs(v - number(1)), 20 * epsilon(type)) << s.note();
    }
  }
}

TEST(SolverLeastSquares, WorksInPlaceOfASquareSystem) {
  for (const least_squares_driver driver : least_squares_drivers) {
    scene s;
    auto& a = matrices(s, dtype::f64, {}, 5, 5, arrangement::row);
    s.make_solvable(a);
    auto& b = matrices(s, dtype::f64, {}, 5, 2, arrangement::row);
    s.run(solver::gels{.a = a.view, .b = b.view, .x = b.view, .driver = driver});
    const wide_matrix off = wide_matrix(a.before()) * s.now(b) - b.before();
    expect_small(s, ratio(off, 5, norm_of(a.before()) * norm_of(s.now(b)), dtype::f64), "a·x − b");
  }
}

TEST(SolverLeastSquares, HasNothingToSayWithoutRightSides) {
  for (const least_squares_driver driver : least_squares_drivers) {
    for (const auto& [m, n] : {std::pair{3, 3}, {5, 2}, {2, 5}, {0, 2}}) {
      scene s;
      auto& a = matrices(s, dtype::f64, {2}, m, n, arrangement::row);
      s.fill(a, number(0));
      auto& b = matrices(s, dtype::f64, {2}, m, 0, arrangement::row);
      auto& x = matrices(s, dtype::f64, {2}, n, 0, arrangement::row);
      auto& info = numbers(s, dtype::i32, {2});
      s.run(
          solver::gels{.a = a.view, .b = b.view, .x = x.view, .info = info.view, .driver = driver});
      EXPECT_EQ(s.elements_now(info), (std::vector<number>{0, 0})) << s.note();
    }
  }
}

TEST(SolverLeastSquares, SaysWhereRankIsMissing) {
  for (const dtype type : classic_types) {
    for (const auto& [m, n] : {std::pair{6, 4}, {4, 6}}) {
      scene s;
      auto& a = matrices(s, type, {2}, m, n, arrangement::row);
      std::vector<number> values = a.values;
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          if ((m > n ? j : i) == 2) values[static_cast<std::size_t>(m * n + i * n + j)] = 0;
        }
      }
      s.fill(a, values);
      auto& b = matrices(s, type, {2}, m, 1, arrangement::row);
      auto& x = matrices(s, type, {2}, n, 1, arrangement::row);
      auto& info = numbers(s, dtype::i32, {2});
      expect_numerical(
          s, s.attempt(solver::gels{.a = a.view, .b = b.view, .x = x.view, .info = info.view}),
          "matrix 1: rank deficient: diagonal element 3 of R is zero");
      EXPECT_EQ(s.elements_now(info), (std::vector<number>{0, 3}));
    }
    scene s;
    auto& a = matrices(s, type, {}, 4, 2, arrangement::column);
    s.fill(a, number(0));
    auto& b = matrices(s, type, {}, 4, 1, arrangement::column);
    auto& x = matrices(s, type, {}, 2, 1, arrangement::column);
    expect_numerical(s, s.attempt(solver::gels{.a = a.view, .b = b.view, .x = x.view}),
                     "rank deficient: diagonal element 1 of R is zero");
    auto& info = numbers(s, dtype::i32, {});
    std::vector<number> values = a.values;
    values[3] = std::numeric_limits<double>::quiet_NaN();
    s.fill(a, values);
    for (const least_squares_driver driver : least_squares_drivers) {
      const solver::gels r{
          .a = a.view, .b = b.view, .x = x.view, .info = info.view, .driver = driver};
      expect_numerical(s, s.attempt(r), "not finite: the matrix has infinities or NaNs");
      EXPECT_EQ(s.elements_now(info).front(), number(-1));
    }
  }
}

TEST(SolverLeastSquares, RefusesWhatItCannotDo) {
  scene s;
  const auto type = dtype::f32;
  const auto a = matrices(s, type, {}, 5, 3, arrangement::row).view;
  const auto b = matrices(s, type, {}, 5, 2, arrangement::row).view;
  const auto x = matrices(s, type, {}, 3, 2, arrangement::row).view;
  s.refuse(solver::gels{.a = a, .b = x, .x = x}, errc::shape_mismatch, "b must have");
  s.refuse(solver::gels{.a = a, .b = b, .x = x, .rank = numbers(s, dtype::i32, {}).view},
           errc::invalid_argument, "rank");
  s.refuse(solver::gels{.a = a, .b = b, .x = x, .rcond = 0.5}, errc::invalid_argument, "rcond");
}

}  // namespace
}  // namespace troupe::conformance
