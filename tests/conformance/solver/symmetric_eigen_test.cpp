#include "matrices.hpp"

#include <troupe/solver/symmetric_eigen.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe::conformance {
namespace {

using solver::eigen_driver;
using solver::eigen_problem;
using solver::eigen_range;
constexpr eigen_driver eigen_drivers[] = {eigen_driver::automatic, eigen_driver::divide_and_conquer,
                                          eigen_driver::jacobi};

struct eigh_case {
  dtype type;
  std::vector<std::int64_t> batch{};
  std::int64_t n;
  arrangement how;
  blas::uplo uplo = blas::uplo::lower;
  eigen_driver driver = eigen_driver::automatic;
  spectrum what = spectrum::random;
  bool in_place = false;
  double scale = 1;
};

std::int64_t matrices_in(const std::vector<std::int64_t>& batch) {
  std::int64_t count = 1;
  for (const std::int64_t extent : batch)
    count *= extent;
  return count;
}

/// Hermitian matrices of which only what may be read is there.
test_tensor& hermitian_matrices(scene& s, const eigh_case& c, std::vector<matrix>& whole) {
  auto& a = matrices(s, c.type, c.batch, c.n, c.n, c.how);
  make_hermitian(s, a, c.what, false);
  scale_values(s, a, c.scale);
  for (std::int64_t i = 0; i < matrices_in(c.batch); ++i)
    whole.push_back(a.before(i));
  s.hide_all_but(a, c.uplo, blas::diag::non_unit, is_complex(c.type));
  return a;
}

/// Up to rounding: on an H100 equal eigenvalues of c64 came in any order of their last bits.
void expect_ascending(scene& s, const matrix& w) {
  constexpr double rounding = 0x1p-21;
  for (std::int64_t i = 1; i < w.rows; ++i)
    EXPECT_LE(w(i - 1, 0).real(), w(i, 0).real() + rounding * std::abs(w(i, 0).real())) << s.note();
}

void expect_pairs(scene& s, const wide_matrix& a, const matrix& w, const matrix& v, dtype type) {
  expect_ascending(s, w);
  expect_small(s, orthogonality(v, type), "vᴴ·v − 1");
  const wide_matrix off = a * v - wide_matrix(v) * diagonal(w.rows, w.rows, w);
  expect_small(s, ratio(off, a.rows, norm_of(a), type), "a·v − v·w");
}

void expect_eigenvectors(const eigh_case& c) {
  scene s;
  s.name(case_name(c.type, c.n, c.n, c.how, c.what));
  std::vector<matrix> whole;
  auto& a = hermitian_matrices(s, c, whole);
  auto& w = vectors(s, real_of(c.type), c.batch, c.n);
  auto& v = c.in_place ? a : matrices(s, c.type, c.batch, c.n, c.n, c.how);
  auto& info = numbers(s, dtype::i32, c.batch);
  s.run(solver::eigh{.a = a.view,
                     .w = w.view,
                     .v = v.view,
                     .info = info.view,
                     .uplo = c.uplo,
                     .driver = c.driver});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    expect_pairs(s, whole[i], vector_now(s, w, at), s.now(v, at), c.type);
  }
}

TEST(SolverEigh, FindsEigenvectors) {
  for (const dtype type : classic_types) {
    for (const blas::uplo uplo : triangles) {
      for (const arrangement how : arrangements) {
        for (const std::int64_t n : {0, 1, 2, 33}) {
          for (const eigen_driver driver : eigen_drivers)
            expect_eigenvectors({.type = type, .n = n, .how = how, .uplo = uplo, .driver = driver});
          expect_eigenvectors({.type = type, .n = n, .how = how, .uplo = uplo, .in_place = true});
        }
        expect_eigenvectors({.type = type, .batch = {2, 2}, .n = 6, .how = how, .uplo = uplo});
      }
      for (const spectrum what : spectra) {
        for (const eigen_driver driver : eigen_drivers)
          expect_eigenvectors({.type = type,
                               .n = 33,
                               .how = arrangement::row,
                               .uplo = uplo,
                               .driver = driver,
                               .what = what});
      }
    }
    for (const std::int64_t n : {100, 300})
      expect_eigenvectors({.type = type, .n = n, .how = arrangement::column});
  }
}

TEST(SolverEigh, FindsEigenvectorsOfSmallAndLargeNumbers) {
  for (const dtype type : classic_types) {
    for (const double scale : far_scales(type)) {
      for (const eigen_driver driver : eigen_drivers) {
        for (const spectrum what : {spectrum::random, spectrum::small, spectrum::repeated}) {
          for (const blas::uplo uplo : triangles) {
            expect_eigenvectors({.type = type,
                                 .n = 40,
                                 .how = arrangement::row,
                                 .uplo = uplo,
                                 .driver = driver,
                                 .what = what,
                                 .scale = scale});
          }
          expect_eigenvectors({.type = type,
                               .batch = {3},
                               .n = 6,
                               .how = arrangement::column,
                               .driver = driver,
                               .what = what,
                               .scale = scale});
        }
      }
    }
  }
}

TEST(SolverEigh, FindsEigenvaluesAlone) {
  for (const dtype type : classic_types) {
    for (const eigen_driver driver : eigen_drivers) {
      for (const arrangement how : arrangements) {
        for (const std::int64_t n : {0, 1, 30}) {
          scene s;
          s.name(case_name(type, n, n, how));
          std::vector<matrix> whole;
          auto& a = hermitian_matrices(
              s, {.type = type, .batch = {2}, .n = n, .how = how, .what = spectrum::repeated},
              whole);
          auto& w = vectors(s, real_of(type), {2}, n);
          s.run(solver::eigh{.a = a.view, .w = w.view, .vectors = false, .driver = driver});
          // Every value of this spectrum is a whole number from −3 to 3.
          for (std::int64_t i = 0; i < 2; ++i) {
            const matrix found = vector_now(s, w, i);
            expect_ascending(s, found);
            number sum = 0;
            for (const number& v : found.values) {
              EXPECT_NEAR(v.real(), std::round(v.real()),
                          3 * threshold * static_cast<double>(n) * epsilon(type))
                  << s.note();
              sum += v;
            }
            number trace = 0;
            for (std::int64_t j = 0; j < n; ++j)
              trace += whole[static_cast<std::size_t>(i)](j, j);
            EXPECT_NEAR(sum.real(), trace.real(), 100 * threshold * epsilon(type)) << s.note();
          }
        }
      }
    }
  }
}

/// A diagonal matrix in other coordinates: its eigenvalues are −3, −2, … n − 4.
test_tensor& counted(scene& s, dtype type, std::int64_t n, arrangement how) {
  auto& a = matrices(s, type, {2}, n, n, how);
  std::vector<number> values(a.values.size());
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < n; ++j)
      values[static_cast<std::size_t>(i * n * n + j * (n + 1))] = static_cast<double>(n - 4 - j);
  }
  s.fill(a, values);
  return a;
}

TEST(SolverEigh, FindsAnIntervalOfIndices) {
  for (const dtype type : classic_types) {
    for (const arrangement how : arrangements) {
      for (const auto& [n, first, k] :
           {std::tuple{9, 2, 4}, {9, 0, 9}, {9, 8, 1}, {9, 3, 0}, {0, 0, 0}}) {
        for (const bool with_vectors : {false, true}) {
          scene s;
          s.name(case_name(type, n, k, how));
          auto& a = counted(s, type, n, how);
          auto& w = vectors(s, real_of(type), {2}, k);
          solver::eigh r{.a = a.view,
                         .w = w.view,
                         .vectors = with_vectors,
                         .range = eigen_range::indices,
                         .first = first};
          auto& v = matrices(s, type, {2}, n, k, how);
          if (with_vectors) r.v = v.view;
          s.run(r);
          for (std::int64_t i = 0; i < 2; ++i) {
            const matrix found = vector_now(s, w, i);
            for (std::int64_t j = 0; j < k; ++j)
              EXPECT_NEAR(found(j, 0).real(), static_cast<double>(first + j - 3),
                          100 * epsilon(type))
                  << s.note();
            if (with_vectors) expect_pairs(s, a.before(i), found, s.now(v, i), type);
          }
        }
      }
    }
  }
}

TEST(SolverEigh, FindsAnIntervalOfValues) {
  for (const dtype type : classic_types) {
    for (const bool with_vectors : {false, true}) {
      scene s;
      auto& a = counted(s, type, 9, arrangement::row);
      auto& w = vectors(s, real_of(type), {2}, 6);
      auto& count = numbers(s, dtype::i64, {2});
      solver::eigh r{.a = a.view,
                     .w = w.view,
                     .count = count.view,
                     .vectors = with_vectors,
                     .range = eigen_range::values,
                     .lower = -1.5,
                     .upper = 2.5};
      auto& v = matrices(s, type, {2}, 9, 6, arrangement::column);
      if (with_vectors) r.v = v.view;
      s.run(r);
      EXPECT_EQ(s.elements_now(count), (std::vector<number>{4, 4})) << s.note();
      for (std::int64_t i = 0; i < 2; ++i) {
        const matrix found = vector_now(s, w, i);
        for (std::int64_t j = 0; j < 6; ++j) {
          if (j < 4) {
            EXPECT_NEAR(found(j, 0).real(), static_cast<double>(j - 1), 100 * epsilon(type));
          } else {
            EXPECT_TRUE(std::isnan(found(j, 0).real()));
          }
        }
        if (!with_vectors) continue;
        const matrix all = s.now(v, i);
        for (std::int64_t row = 0; row < 9; ++row) {
          EXPECT_EQ(all(row, 4), number(0));
          EXPECT_EQ(all(row, 5), number(0));
        }
        matrix four(4, 1);
        std::copy_n(found.values.begin(), 4, four.values.begin());
        matrix v_four(9, 4);
        for (std::int64_t row = 0; row < 9; ++row) {
          for (std::int64_t j = 0; j < 4; ++j)
            v_four(row, j) = all(row, j);
        }
        expect_pairs(s, a.before(i), four, v_four, type);
      }
    }
    scene s;
    auto& a = counted(s, type, 9, arrangement::row);
    auto& w = vectors(s, real_of(type), {2}, 3);
    auto& count = numbers(s, dtype::i64, {2});
    const auto answer = s.attempt(solver::eigh{.a = a.view,
                                               .w = w.view,
                                               .count = count.view,
                                               .vectors = false,
                                               .range = eigen_range::values,
                                               .lower = -1.5,
                                               .upper = 2.5});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, errc::capacity_exceeded);
    EXPECT_EQ(answer.error().message, "needs 4 elements of w, which has 3");
    EXPECT_EQ(s.elements_now(count), (std::vector<number>{4, 4}));
  }
}

TEST(SolverEigh, RefusesToDecomposeWhatIsNotFinite) {
  for (const dtype type : classic_types) {
    for (const eigen_range range : {eigen_range::all, eigen_range::indices}) {
      scene s;
      auto& a = counted(s, type, 5, arrangement::row);
      std::vector<number> values = a.values;
      values[25 + 5] = std::numeric_limits<double>::infinity();
      s.fill(a, values);
      auto& w = vectors(s, real_of(type), {2}, 5);
      auto& info = numbers(s, dtype::i32, {2});
      expect_numerical(
          s,
          s.attempt(solver::eigh{
              .a = a.view, .w = w.view, .info = info.view, .vectors = false, .range = range}),
          "matrix 1: not finite: the matrix has infinities or NaNs");
      EXPECT_EQ(s.elements_now(info), (std::vector<number>{0, -1}));
    }
  }
}

void expect_generalised(dtype type, std::int64_t n, arrangement how, blas::uplo uplo,
                        eigen_problem problem, bool with_vectors, bool in_place) {
  const std::vector<std::int64_t> batch(n == 6 ? 1 : 0, 2);
  scene s;
  s.name(case_name(type, n, n, how) + " problem " + std::to_string(static_cast<int>(problem)));
  std::vector<matrix> whole;
  auto& a = hermitian_matrices(s, {.type = type, .batch = batch, .n = n, .how = how, .uplo = uplo},
                               whole);
  auto& b = matrices(s, type, batch, n, n, arrangement::row);
  make_hermitian(s, b, spectrum::random, true);
  std::vector<matrix> definite;
  for (std::int64_t i = 0; i < matrices_in(batch); ++i)
    definite.push_back(b.before(i));
  s.hide_all_but(b, uplo, blas::diag::non_unit, is_complex(type));
  auto& w = vectors(s, real_of(type), batch, n);
  auto& v = in_place ? a : matrices(s, type, batch, n, n, how);
  solver::eigh_generalised r{.a = a.view,
                             .b = b.view,
                             .w = w.view,
                             .problem = problem,
                             .vectors = with_vectors,
                             .uplo = uplo};
  if (with_vectors) r.v = v.view;
  s.run(r);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const matrix values = vector_now(s, w, at);
    expect_ascending(s, values);
    if (!with_vectors) continue;
    const wide_matrix am = whole[i];
    const wide_matrix bm = definite[i];
    const wide_matrix x = s.now(v, at);
    const wide_matrix scaled = x * diagonal(n, n, values);
    const long double size = norm_of(am) * std::max(norm_of(x), 1.0L) * norm_of(bm);
    switch (problem) {
      case eigen_problem::ax_lbx:
        expect_small(s, ratio(am * x - bm * scaled, n, size, type), "a·x − l·b·x");
        break;
      case eigen_problem::abx_lx:
        expect_small(s, ratio(am * (bm * x) - scaled, n, size, type), "a·b·x − l·x");
        break;
      case eigen_problem::bax_lx:
        expect_small(s, ratio(bm * (am * x) - scaled, n, size, type), "b·a·x − l·x");
        break;
    }
    if (problem != eigen_problem::bax_lx)
      expect_small(s,
                   ratio(adjoint(x) * (bm * x) - identity(n), n,
                         std::max(norm_of(bm) * norm_of(x) * norm_of(x), 1.0L), type),
                   "vᴴ·b·v − 1");
  }
}

TEST(SolverEighGeneralised, SolvesAllThreeProblems) {
  for (const dtype type : classic_types) {
    for (const blas::uplo uplo : triangles) {
      for (const arrangement how : arrangements) {
        for (const eigen_problem problem :
             {eigen_problem::ax_lbx, eigen_problem::abx_lx, eigen_problem::bax_lx}) {
          for (const std::int64_t n : {0, 1, 6, 33}) {
            expect_generalised(type, n, how, uplo, problem, true, false);
            expect_generalised(type, n, how, uplo, problem, false, false);
          }
          expect_generalised(type, 6, how, uplo, problem, true, true);
        }
      }
    }
    expect_generalised(type, 100, arrangement::column, blas::uplo::upper, eigen_problem::ax_lbx,
                       true, false);
  }
}

TEST(SolverEighGeneralised, SaysWhichMinorOfBIsNotPositive) {
  for (const dtype type : classic_types) {
    scene s;
    auto& a = counted(s, type, 5, arrangement::row);
    auto& b = matrices(s, type, {2}, 5, 5, arrangement::column);
    shape_values(s, b, spectrum::identity);
    std::vector<number> values = b.values;
    values[25 + 3 * 6] = 0;
    s.fill(b, values);
    auto& w = vectors(s, real_of(type), {2}, 5);
    auto& info = numbers(s, dtype::i32, {2});
    expect_numerical(
        s,
        s.attempt(solver::eigh_generalised{
            .a = a.view, .b = b.view, .w = w.view, .info = info.view, .vectors = false}),
        "matrix 1: b is not positive definite: leading minor 4");
    EXPECT_EQ(s.elements_now(info), (std::vector<number>{0, 9}));
  }
}

TEST(SolverEigh, RefusesWhatItCannotDo) {
  scene s;
  const auto type = dtype::c128;
  const auto a = matrices(s, type, {}, 4, 4, arrangement::row).view;
  const auto v = matrices(s, type, {}, 4, 4, arrangement::row).view;
  const auto w = vectors(s, dtype::f64, {}, 4).view;
  const auto two = vectors(s, dtype::f64, {}, 2).view;
  s.refuse(solver::eigh{.a = a, .w = w}, errc::invalid_argument, "v");
  s.refuse(solver::eigh{.a = a, .w = two, .v = v}, errc::shape_mismatch, "w");
  s.refuse(solver::eigh{.a = a, .w = w, .v = v, .lower = 1}, errc::invalid_argument, "lower");
  s.refuse(
      solver::eigh{.a = a, .w = two, .vectors = false, .range = eigen_range::indices, .first = 3},
      errc::shape_mismatch, "first is 3 and w has 2 eigenvalues; a has 4");
  s.refuse(solver::eigh{.a = a, .w = w, .vectors = false, .range = eigen_range::values},
           errc::invalid_argument, "count");
  s.refuse(solver::eigh{.a = a,
                        .w = w,
                        .count = numbers(s, dtype::i64, {}).view,
                        .vectors = false,
                        .range = eigen_range::values,
                        .lower = 2,
                        .upper = 1},
           errc::invalid_argument, "lower must be less than upper");
  s.refuse(solver::eigh_generalised{.a = a, .b = v, .w = w, .v = v}, errc::aliasing);
}

}  // namespace
}  // namespace troupe::conformance
