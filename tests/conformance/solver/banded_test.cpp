#include "matrices.hpp"

#include <troupe/solver/banded.hpp>

#include <algorithm>
#include <limits>

namespace troupe::conformance {
namespace {

struct band {
  std::int64_t n;
  std::int64_t kl;
  std::int64_t ku;
};
constexpr band bands[] = {{0, 1, 2},  {1, 0, 0},  {1, 2, 1},  {5, 4, 4},  {9, 0, 2},
                          {17, 3, 0}, {33, 2, 5}, {40, 7, 3}, {70, 1, 1}, {6, 9, 8}};

/// Puts NaNs where the storage has no element of the matrix, and answers the matrices: row r of the
/// storage is the diagonal with j − i = ku − r.
std::vector<matrix> spread_band(scene& s, test_tensor& ab, std::int64_t ku) {
  const int rank = ab.view.rank();
  const std::int64_t diagonals = ab.view.extent(rank - 2);
  const std::int64_t n = ab.view.extent(rank - 1);
  const auto count =
      static_cast<std::size_t>(ab.view.count() / std::max<std::int64_t>(1, diagonals * n));
  std::vector<number> values = ab.values;
  std::vector<matrix> all(n == 0 ? 1 : count, matrix(n, n));
  for (std::size_t at = 0; at < values.size(); ++at) {
    const auto flat = static_cast<std::int64_t>(at);
    const std::int64_t j = flat % n;
    const std::int64_t i = flat / n % diagonals - ku + j;
    if (i < 0 || i >= n) {
      values[at] = std::numeric_limits<double>::quiet_NaN();
    } else {
      all[at / static_cast<std::size_t>(diagonals * n)](i, j) = values[at];
    }
  }
  s.fill(ab, values);
  return all;
}

void expect_band_solution(scene& s, const matrix& a, const matrix& x, const matrix& b, dtype type) {
  expect_small(s, ratio(wide_matrix(a) * x - b, a.rows, norm_of(a) * norm_of(x), type), "a·x − b");
}

TEST(SolverBanded, GbsvSolves) {
  const auto expect = [](dtype type, const band& of, arrangement how, std::int64_t nrhs,
                         bool in_place, const std::vector<std::int64_t>& batch) {
    scene s;
    s.name(case_name(type, of.kl + of.ku + 1, of.n, how) + (in_place ? " in place" : ""));
    auto& ab = matrices(s, type, batch, of.kl + of.ku + 1, of.n, how);
    const std::vector<matrix> a = spread_band(s, ab, of.ku);
    auto& b = matrices(s, type, batch, of.n, nrhs, how);
    auto& x = in_place ? b : matrices(s, type, batch, of.n, nrhs, arrangement::row);
    auto& info = numbers(s, dtype::i32, batch);
    s.run(solver::gbsv{
        .ab = ab.view, .b = b.view, .x = x.view, .info = info.view, .kl = of.kl, .ku = of.ku});
    for (const number& v : s.elements_now(info))
      EXPECT_EQ(v, number(0)) << s.note();
    for (std::size_t i = 0; i < a.size() && nrhs > 0; ++i) {
      const auto one = static_cast<std::int64_t>(i);
      expect_band_solution(s, a[i], s.now(x, one), b.before(one), type);
    }
  };
  for (const dtype type : classic_types) {
    for (const band& of : bands) {
      for (const arrangement how : arrangements) {
        expect(type, of, how, 3, false, {});
        expect(type, of, how, 1, true, {});
      }
      expect(type, of, arrangement::column, 0, false, {});
    }
    expect(type, {33, 2, 5}, arrangement::row_padded, 2, false, {2, 3});
    expect(type, {33, 2, 5}, arrangement::spread, 2, true, {5});
    expect(type, {300, 20, 11}, arrangement::column, 2, false, {2});
  }
}

/// Makes matrices of one triangle of a band definite, and answers them whole. The imaginary part of
/// the diagonal becomes NaN.
std::vector<matrix> make_definite_band(scene& s, test_tensor& ab, blas::uplo uplo) {
  const std::int64_t k = ab.view.extent(ab.view.rank() - 2) - 1;
  const std::int64_t n = ab.view.extent(ab.view.rank() - 1);
  const std::int64_t diagonal = uplo == blas::uplo::upper ? k : 0;
  const bool complex = is_complex(ab.view.type());
  std::vector<number> values = ab.values;
  for (std::size_t at = 0; at < values.size(); ++at) {
    if (static_cast<std::int64_t>(at) / n % (k + 1) == diagonal)
      values[at] = std::abs(values[at].real()) + 2.0 * static_cast<double>(k) + 1;
  }
  s.fill(ab, values);
  std::vector<matrix> all = spread_band(s, ab, diagonal);
  for (matrix& a : all) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < i; ++j) {
        if (uplo == blas::uplo::upper)
          a(i, j) = std::conj(a(j, i));
        else
          a(j, i) = std::conj(a(i, j));
      }
    }
  }
  values = ab.values;
  for (std::size_t at = 0; complex && at < values.size(); ++at) {
    if (static_cast<std::int64_t>(at) / n % (k + 1) == diagonal)
      values[at] = {values[at].real(), std::numeric_limits<double>::quiet_NaN()};
  }
  s.fill(ab, values);
  return all;
}

TEST(SolverBanded, PbsvSolves) {
  const auto expect = [](dtype type, const band& of, arrangement how, blas::uplo uplo,
                         bool in_place, const std::vector<std::int64_t>& batch) {
    scene s;
    s.name(case_name(type, of.ku + 1, of.n, how) + (in_place ? " in place" : ""));
    auto& ab = matrices(s, type, batch, of.ku + 1, of.n, how);
    const std::vector<matrix> a = make_definite_band(s, ab, uplo);
    auto& b = matrices(s, type, batch, of.n, 3, how);
    auto& x = in_place ? b : matrices(s, type, batch, of.n, 3, arrangement::row);
    auto& info = numbers(s, dtype::i32, batch);
    s.run(solver::pbsv{.ab = ab.view, .b = b.view, .x = x.view, .info = info.view, .uplo = uplo});
    for (const number& v : s.elements_now(info))
      EXPECT_EQ(v, number(0)) << s.note();
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto one = static_cast<std::int64_t>(i);
      expect_band_solution(s, a[i], s.now(x, one), b.before(one), type);
    }
  };
  for (const dtype type : classic_types) {
    for (const blas::uplo uplo : triangles) {
      for (const band& of : bands) {
        for (const arrangement how : arrangements)
          expect(type, of, how, uplo, how == arrangement::spread, {});
      }
      expect(type, {33, 0, 5}, arrangement::row_padded, uplo, false, {2, 3});
      expect(type, {300, 0, 40}, arrangement::column, uplo, true, {2});
    }
  }
}

TEST(SolverBanded, NamesTheFirstBadMatrixOfABatchAndSolvesTheOthers) {
  for (const dtype type : classic_types) {
    scene s;
    auto& ab = matrices(s, type, {3}, 3, 6, arrangement::row);
    s.make_solvable(ab);
    std::vector<number> values = ab.values;
    for (std::size_t row = 0; row < 3; ++row) {
      const std::size_t diagonal = 18 + row * 6 + 3;  // column 3 of the second matrix
      values[diagonal] = 0;
    }
    s.fill(ab, values);
    const std::vector<matrix> a = spread_band(s, ab, 1);
    auto& b = matrices(s, type, {3}, 6, 2, arrangement::column);
    auto& x = matrices(s, type, {3}, 6, 2, arrangement::row);
    auto& info = numbers(s, dtype::i32, {3});
    expect_numerical(
        s,
        s.attempt(solver::gbsv{
            .ab = ab.view, .b = b.view, .x = x.view, .info = info.view, .kl = 1, .ku = 1}),
        "matrix 1: singular: pivot 4 is zero");
    EXPECT_EQ(s.elements_now(info), (std::vector<number>{0, 4, 0}));
    for (const std::size_t good : {0U, 2U})
      expect_band_solution(s, a[good], s.now(x, static_cast<std::int64_t>(good)),
                           b.before(static_cast<std::int64_t>(good)), type);

    for (const blas::uplo uplo : triangles) {
      for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
        scene definite;
        auto& half = matrices(definite, type, {2}, 2, 5, arrangement::row);
        (void)make_definite_band(definite, half, uplo);
        std::vector<number> changed = half.values;
        changed[10 + (uplo == blas::uplo::upper ? 5 : 0) + 2] = bad;  // its diagonal at 2
        definite.fill(half, changed);
        auto& right = matrices(definite, type, {2}, 5, 1, arrangement::row);
        auto& found = numbers(definite, dtype::i32, {2});
        expect_numerical(definite,
                         definite.attempt(solver::pbsv{.ab = half.view,
                                                       .b = right.view,
                                                       .x = right.view,
                                                       .info = found.view,
                                                       .uplo = uplo}),
                         "matrix 1: not positive definite: leading minor 3");
        EXPECT_EQ(definite.elements_now(found), (std::vector<number>{0, 3}));
      }
    }
  }
}

TEST(SolverBanded, RefusesWhatItCannotDo) {
  scene s;
  const auto ab = matrices(s, dtype::f32, {}, 4, 5, arrangement::row).view;
  const auto b = matrices(s, dtype::f32, {}, 5, 2, arrangement::row).view;
  s.refuse(solver::gbsv{.ab = ab, .b = b, .x = b, .kl = 1, .ku = 1}, errc::shape_mismatch,
           "ab has 4 diagonals but kl is 1 and ku is 1");
  s.refuse(solver::gbsv{.ab = ab, .b = b, .x = b, .kl = -1, .ku = 4}, errc::shape_mismatch,
           "kl is -1");
  s.refuse(
      solver::gbsv{
          .ab = ab, .b = b, .x = b, .kl = std::numeric_limits<std::int64_t>::max(), .ku = 4},
      errc::shape_mismatch);
  s.refuse(
      solver::pbsv{.ab = matrices(s, dtype::f32, {}, 0, 5, arrangement::row).view, .b = b, .x = b},
      errc::shape_mismatch, "ab must have at least one diagonal");
}

}  // namespace
}  // namespace troupe::conformance
