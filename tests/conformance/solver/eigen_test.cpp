#include "matrices.hpp"

#include <troupe/solver/eigen.hpp>

#include <algorithm>
#include <limits>

namespace troupe::conformance {
namespace {

dtype complex_of(dtype type) {
  return type == dtype::f32 ? dtype::c64 : type == dtype::f64 ? dtype::c128 : type;
}

struct eig_case {
  dtype type;
  std::vector<std::int64_t> batch{};
  std::int64_t n;
  arrangement how;
  bool right = true;
  bool left = true;
  spectrum what = spectrum::random;
  double scale = 1;
};

void expect_unit_columns(scene& s, const wide_matrix& v, dtype type) {
  for (std::int64_t j = 0; j < v.columns; ++j) {
    long double length = 0;
    for (std::int64_t i = 0; i < v.rows; ++i)
      length += std::norm(v(i, j));
    EXPECT_NEAR(static_cast<double>(length), 1, 100 * epsilon(type)) << s.note();
  }
}

void expect_eigen(const eig_case& c) {
  scene s;
  s.name(case_name(c.type, c.n, c.n, c.how, c.what));
  auto& a = matrices(s, c.type, c.batch, c.n, c.n, c.how);
  shape_values(s, a, c.what);
  if (c.scale != 1) scale_values(s, a, c.scale);
  const dtype complex = complex_of(c.type);
  auto& w = vectors(s, complex, c.batch, c.n);
  auto& vr = matrices(s, complex, c.batch, c.n, c.n, c.how);
  auto& vl = matrices(s, complex, c.batch, c.n, c.n, c.how);
  auto& info = numbers(s, dtype::i32, c.batch);
  solver::eig r{.a = a.view, .w = w.view, .info = info.view, .right = c.right, .left = c.left};
  if (c.right) r.vr = vr.view;
  if (c.left) r.vl = vl.view;
  s.run(r);
  const std::int64_t count = c.batch.empty() ? 1 : c.batch.front();
  for (std::int64_t i = 0; i < count; ++i) {
    const wide_matrix before = a.before(i);
    const matrix values = vector_now(s, w, i);
    if (c.right) {
      const wide_matrix v = s.now(vr, i);
      expect_unit_columns(s, v, c.type);
      const wide_matrix off = before * v - v * diagonal(c.n, c.n, values);
      expect_small(s, ratio(off, c.n, norm_of(before), c.type), "a·vr − vr·w");
    }
    if (c.left) {
      const wide_matrix v = s.now(vl, i);
      expect_unit_columns(s, v, c.type);
      const wide_matrix off = adjoint(v) * before - diagonal(c.n, c.n, values) * adjoint(v);
      expect_small(s, ratio(off, c.n, norm_of(adjoint(before)), c.type), "vlᴴ·a − w·vlᴴ");
    }
    // The trace is the sum of the eigenvalues.
    wide_matrix::number trace = 0;
    wide_matrix::number sum = 0;
    for (std::int64_t j = 0; j < c.n; ++j) {
      trace += before(j, j);
      sum += wide_matrix::number(values(j, 0).real(), values(j, 0).imag());
    }
    EXPECT_LE(std::abs(trace - sum), threshold * static_cast<double>(c.n) * epsilon(c.type) *
                                         static_cast<double>(norm_of(before)))
        << s.note();
    for (std::int64_t j = 0; j < c.n && !is_complex(c.type); ++j) {
      if (values(j, 0).imag() == 0) continue;
      ASSERT_LT(j + 1, c.n) << s.note();
      EXPECT_GT(values(j, 0).imag(), 0) << s.note();
      EXPECT_EQ(values(j + 1, 0), std::conj(values(j, 0))) << s.note();
      ++j;
    }
  }
}

TEST(SolverEig, FindsEigenvectors) {
  for (const dtype type : classic_types) {
    for (const arrangement how : arrangements) {
      for (const std::int64_t n : {0, 1, 2, 33}) {
        for (const bool right : {false, true}) {
          for (const bool left : {false, true})
            expect_eigen({.type = type, .n = n, .how = how, .right = right, .left = left});
        }
      }
      expect_eigen({.type = type, .batch = {3}, .n = 7, .how = how});
    }
    for (const spectrum what : spectra)
      expect_eigen({.type = type, .n = 33, .how = arrangement::row, .what = what});
    expect_eigen({.type = type, .n = 150, .how = arrangement::column});
  }
}

TEST(SolverEig, FindsVectorsOfSmallAndLargeNumbers) {
  for (const dtype type : classic_types) {
    for (const double scale : far_scales(type))
      expect_eigen({.type = type, .n = 20, .how = arrangement::column, .scale = scale});
  }
}

TEST(SolverEig, OfARotationIsAConjugatePair) {
  scene s;
  auto& a = matrices(s, dtype::f64, {}, 2, 2, arrangement::row);
  s.fill(a, {0, -1, 1, 0});
  auto& w = vectors(s, dtype::c128, {}, 2);
  s.run(solver::eig{.a = a.view, .w = w.view, .right = false});
  const matrix values = vector_now(s, w);
  EXPECT_LT(std::abs(values(0, 0) - number(0, 1)), 1e-15);
  EXPECT_LT(std::abs(values(1, 0) - number(0, -1)), 1e-15);
}

/// Expects beta · a · v = alpha · b · v for each pair, to LAPACK's ratio.
void expect_pairs(scene& s, const wide_matrix& a, const wide_matrix& b, const matrix& alpha,
                  const matrix& beta, const wide_matrix& v, dtype type) {
  const wide_matrix av = a * v;
  const wide_matrix bv = b * v;
  for (std::int64_t j = 0; j < v.columns; ++j) {
    const wide_matrix::number numerator(alpha(j, 0).real(), alpha(j, 0).imag());
    const long double denominator = beta(j, 0).real();
    EXPECT_GE(static_cast<double>(denominator), 0) << s.note();
    wide_matrix off(v.rows, 1);
    long double most = 0;
    for (std::int64_t i = 0; i < v.rows; ++i) {
      off(i, 0) = denominator * av(i, j) - numerator * bv(i, j);
      most = std::max(most, std::abs(v(i, j).real()) + std::abs(v(i, j).imag()));
    }
    EXPECT_NEAR(static_cast<double>(most), 1, 100 * epsilon(type)) << s.note();
    const long double norm = std::max(denominator * norm_of(a), std::abs(numerator) * norm_of(b));
    expect_small(s, ratio(off, v.rows, norm, type), "beta·a·v − alpha·b·v");
  }
}

struct pencil_case {
  dtype type;
  std::int64_t n;
  arrangement how;
  std::vector<std::int64_t> batch{};
  bool right = true;
  bool left = true;
  spectrum of_b = spectrum::random;
};

void expect_pencil(const pencil_case& c) {
  scene s;
  s.name(case_name(c.type, c.n, c.n, c.how, c.of_b));
  auto& a = matrices(s, c.type, c.batch, c.n, c.n, c.how);
  auto& b = matrices(s, c.type, c.batch, c.n, c.n, arrangement::row);
  shape_values(s, b, c.of_b);
  const dtype complex = complex_of(c.type);
  auto& alpha = vectors(s, complex, c.batch, c.n);
  auto& beta = vectors(s, real_of(c.type), c.batch, c.n);
  auto& vr = matrices(s, complex, c.batch, c.n, c.n, c.how);
  auto& vl = matrices(s, complex, c.batch, c.n, c.n, c.how);
  auto& info = numbers(s, dtype::i32, c.batch);
  solver::eig_generalised r{.a = a.view,
                            .b = b.view,
                            .alpha = alpha.view,
                            .beta = beta.view,
                            .info = info.view,
                            .right = c.right,
                            .left = c.left};
  if (c.right) r.vr = vr.view;
  if (c.left) r.vl = vl.view;
  if (!s.run_if_offered(r)) return;
  for (std::int64_t i = 0; i < (c.batch.empty() ? 1 : c.batch.front()); ++i) {
    const matrix numerators = vector_now(s, alpha, i);
    const matrix denominators = vector_now(s, beta, i);
    const wide_matrix its_a = a.before(i);
    const wide_matrix its_b = b.before(i);
    if (c.right) expect_pairs(s, its_a, its_b, numerators, denominators, s.now(vr, i), c.type);
    if (!c.left) continue;
    matrix conjugates = numerators;
    for (number& v : conjugates.values)
      v = std::conj(v);
    expect_pairs(s, adjoint(its_a), adjoint(its_b), conjugates, denominators, s.now(vl, i), c.type);
  }
}

TEST(SolverEig, FindsEigenvectorsOfPencils) {
  for (const dtype type : classic_types) {
    for (const arrangement how : arrangements) {
      for (const std::int64_t n : {0, 1, 2, 21}) {
        expect_pencil({.type = type, .n = n, .how = how});
        expect_pencil({.type = type, .n = n, .how = how, .right = false, .left = false});
      }
      expect_pencil({.type = type, .n = 7, .how = how, .batch = {3}, .left = false});
    }
    for (const spectrum what : {spectrum::deficient, spectrum::small, spectrum::identity})
      expect_pencil({.type = type, .n = 20, .how = arrangement::column, .of_b = what});
  }
}

TEST(SolverEig, OfASingularPencilHasInfiniteEigenvalues) {
  scene s;
  auto& a = matrices(s, dtype::f64, {}, 2, 2, arrangement::row);
  auto& b = matrices(s, dtype::f64, {}, 2, 2, arrangement::row);
  s.fill(a, {1, 2, 3, 4});
  s.fill(b, {1, 0, 0, 0});
  auto& alpha = vectors(s, dtype::c128, {}, 2);
  auto& beta = vectors(s, dtype::f64, {}, 2);
  if (!s.run_if_offered(solver::eig_generalised{
          .a = a.view, .b = b.view, .alpha = alpha.view, .beta = beta.view, .right = false}))
    return;
  const matrix numerators = vector_now(s, alpha);
  const matrix denominators = vector_now(s, beta);
  const std::int64_t infinite = denominators(0, 0).real() < denominators(1, 0).real() ? 0 : 1;
  EXPECT_LT(denominators(infinite, 0).real(), 1e-14);
  EXPECT_GT(std::abs(numerators(infinite, 0)), 0.1);
  EXPECT_NEAR((numerators(1 - infinite, 0) / denominators(1 - infinite, 0)).real(), -0.5, 1e-14);
}

TEST(SolverEig, RefusesToDecomposeWhatIsNotFinite) {
  for (const dtype type : classic_types) {
    scene s;
    auto& a = matrices(s, type, {2}, 4, 4, arrangement::row);
    std::vector<number> values = a.values;
    values[5] = std::numeric_limits<double>::quiet_NaN();
    s.fill(a, values);
    auto& w = vectors(s, complex_of(type), {2}, 4);
    auto& info = numbers(s, dtype::i32, {2});
    expect_numerical(
        s, s.attempt(solver::eig{.a = a.view, .w = w.view, .info = info.view, .right = false}),
        "matrix 0: not finite: the matrix has infinities or NaNs");
    EXPECT_EQ(s.elements_now(info), (std::vector<number>{-1, 0}));
  }
}

TEST(SolverEig, RefusesWhatItCannotDo) {
  scene s;
  const auto a = matrices(s, dtype::f32, {}, 4, 4, arrangement::row).view;
  const auto w = vectors(s, dtype::c64, {}, 4).view;
  s.refuse(solver::eig{.a = a, .w = w}, errc::invalid_argument, "vr");
  s.refuse(solver::eig{.a = a, .w = vectors(s, dtype::f32, {}, 4).view, .right = false},
           errc::type_mismatch, "w");
  s.refuse(
      solver::eig{.a = a, .w = w, .vr = matrices(s, dtype::c64, {}, 4, 3, arrangement::row).view},
      errc::shape_mismatch, "vr");
}

}  // namespace
}  // namespace troupe::conformance
