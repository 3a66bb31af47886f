#include "matrices.hpp"

#include <troupe/solver/svd.hpp>

#include <algorithm>
#include <limits>

namespace troupe::conformance {
namespace {

using solver::singular_vectors;
using solver::svd_driver;
using matrix_size = std::pair<std::int64_t, std::int64_t>;
constexpr matrix_size svd_sizes[] = {{0, 0}, {0, 3}, {3, 0}, {1, 1}, {7, 4}, {4, 7}, {33, 33}};
constexpr singular_vectors every_vectors[] = {singular_vectors::none, singular_vectors::thin,
                                              singular_vectors::full};
constexpr svd_driver exact_drivers[] = {svd_driver::automatic, svd_driver::qr, svd_driver::jacobi,
                                        svd_driver::polar};

struct svd_case {
  dtype type;
  std::vector<std::int64_t> batch{};
  matrix_size mn;
  arrangement how;
  singular_vectors vectors;
  svd_driver driver = svd_driver::automatic;
  spectrum what = spectrum::random;
  /// For drivers that find only the largest values; else all are found.
  std::int64_t rank = -1;
  double scale = 1;
};

/// The operands of a case, and its request.
struct decomposition {
  scene s;
  test_tensor* a;
  test_tensor* values;
  test_tensor* u = nullptr;
  test_tensor* vh = nullptr;
  solver::svd request;

  explicit decomposition(const svd_case& c) {
    const auto [m, n] = c.mn;
    const std::int64_t k = c.rank >= 0 ? c.rank : std::min(m, n);
    s.name(case_name(c.type, m, n, c.how, c.what) + " driver " +
           std::to_string(static_cast<int>(c.driver)) + " vectors " +
           std::to_string(static_cast<int>(c.vectors)));
    a = &matrices(s, c.type, c.batch, m, n, c.how);
    shape_values(s, *a, c.what);
    if (c.scale != 1) scale_values(s, *a, c.scale);
    values = &vectors(s, real_of(c.type), c.batch, k);
    request = {.a = a->view, .s = values->view, .vectors = c.vectors, .driver = c.driver};
    if (c.vectors == singular_vectors::none) return;
    const bool full = c.vectors == singular_vectors::full;
    u = &matrices(s, c.type, c.batch, m, full ? m : k, c.how);
    vh = &matrices(s, c.type, c.batch, full ? n : k, n, c.how);
    request.u = u->view;
    request.vh = vh->view;
  }
};

void expect_order(scene& s, const matrix& values) {
  for (std::int64_t i = 0; i < values.rows; ++i) {
    EXPECT_GE(values(i, 0).real(), 0) << s.note();
    if (i == 0) continue;
    EXPECT_LE(values(i, 0).real(), values(i - 1, 0).real()) << s.note();
  }
}

void expect_decomposition(const svd_case& c) {
  decomposition d(c);
  const auto [m, n] = c.mn;
  const std::int64_t most = std::max(m, n);
  auto& info = numbers(d.s, dtype::i32, c.batch);
  d.request.info = info.view;
  d.s.run(d.request);
  std::int64_t count = 1;
  for (const std::int64_t extent : c.batch)
    count *= extent;
  for (std::int64_t i = 0; i < count; ++i) {
    const matrix values = vector_now(d.s, *d.values, i);
    expect_order(d.s, values);
    const wide_matrix before = d.a->before(i);
    if (c.vectors == singular_vectors::none) {
      // Their squares add up to those of the elements.
      long double squares = 0;
      for (const auto& v : before.values)
        squares += std::norm(v);
      long double found = 0;
      for (const auto& v : values.values)
        found += std::norm(std::complex<long double>(v.real()));
      const long double limit = threshold * static_cast<long double>(most) *
                                static_cast<long double>(epsilon(c.type)) * squares;
      EXPECT_LE(std::abs(found - squares), limit) << d.s.note();
      continue;
    }
    const wide_matrix u = d.s.now(*d.u, i);
    const wide_matrix vh = d.s.now(*d.vh, i);
    expect_small(d.s, orthogonality(u, c.type), "uᴴ·u − 1");
    expect_small(d.s, orthogonality(adjoint(vh), c.type), "vh·vhᴴ − 1");
    const wide_matrix back = u * diagonal(u.columns, vh.rows, values) * vh;
    expect_small(d.s, ratio(back - before, most, norm_of(before), c.type), "u·s·vh − a");
  }
}

TEST(SolverSvd, Decomposes) {
  for (const dtype type : classic_types) {
    for (const svd_driver driver : exact_drivers) {
      for (const singular_vectors vectors : every_vectors) {
        for (const arrangement how : arrangements) {
          for (const matrix_size& mn : svd_sizes)
            expect_decomposition(
                {.type = type, .mn = mn, .how = how, .vectors = vectors, .driver = driver});
          expect_decomposition({.type = type,
                                .batch = {2, 2},
                                .mn = {6, 5},
                                .how = how,
                                .vectors = vectors,
                                .driver = driver});
        }
        for (const spectrum what : spectra) {
          for (const matrix_size& mn : {matrix_size{20, 33}, {33, 20}})
            expect_decomposition({.type = type,
                                  .mn = mn,
                                  .how = arrangement::row,
                                  .vectors = vectors,
                                  .driver = driver,
                                  .what = what});
        }
      }
    }
    expect_decomposition({.type = type,
                          .mn = {300, 200},
                          .how = arrangement::column,
                          .vectors = singular_vectors::thin});
    expect_decomposition({.type = type,
                          .mn = {100, 100},
                          .how = arrangement::row,
                          .vectors = singular_vectors::full});
  }
}

TEST(SolverSvd, DecomposesSmallAndLargeNumbers) {
  for (const dtype type : classic_types) {
    for (const svd_driver driver : exact_drivers) {
      for (const singular_vectors vectors : {singular_vectors::thin, singular_vectors::full}) {
        for (const double scale : far_scales(type)) {
          for (const matrix_size& mn :
               {matrix_size{33, 33}, matrix_size{40, 30}, matrix_size{3, 60}})
            expect_decomposition({.type = type,
                                  .mn = mn,
                                  .how = arrangement::column,
                                  .vectors = vectors,
                                  .driver = driver,
                                  .scale = scale});
        }
      }
    }
  }
}

TEST(SolverSvd, FindsTheLargestAlone) {
  for (const dtype type : classic_types) {
    for (const svd_driver driver : {svd_driver::randomised, svd_driver::approximate}) {
      for (const arrangement how : arrangements) {
        for (const singular_vectors vectors : {singular_vectors::none, singular_vectors::thin}) {
          // Half the rank: the other values are zero.
          for (const matrix_size& mn : {matrix_size{40, 16}, {16, 40}, {16, 16}})
            expect_decomposition({.type = type,
                                  .batch = {2},
                                  .mn = mn,
                                  .how = how,
                                  .vectors = vectors,
                                  .driver = driver,
                                  .what = spectrum::deficient,
                                  .rank = 8});
          expect_decomposition({.type = type,
                                .mn = {0, 5},
                                .how = how,
                                .vectors = vectors,
                                .driver = driver,
                                .rank = 0});
        }
      }
    }
  }
}

TEST(SolverSvd, LeavesOutWhatIsSmall) {
  for (const svd_driver driver : {svd_driver::randomised, svd_driver::approximate}) {
    // Values from 1 down to 1e-8: the first 10 of 60 are above 0.05.
    decomposition d({.type = dtype::f64,
                     .mn = {60, 60},
                     .how = arrangement::column,
                     .vectors = singular_vectors::thin,
                     .driver = driver,
                     .what = spectrum::small,
                     .rank = 10});
    d.s.run(d.request);
    const matrix values = vector_now(d.s, *d.values);
    for (std::int64_t i = 0; i < 10; ++i)
      EXPECT_NEAR(values(i, 0).real(), std::pow(1e-8, static_cast<double>(i) / 59), 1e-6)
          << d.s.note();
  }
}

TEST(SolverSvd, ADriverThatIsRandomFollowsItsSeed) {
  const auto first = [](std::uint64_t seed) {
    decomposition d({.type = dtype::f32,
                     .mn = {50, 40},
                     .how = arrangement::column,
                     .vectors = singular_vectors::thin,
                     .driver = svd_driver::randomised,
                     .rank = 3});
    std::vector<number> same(d.a->values.size());
    for (std::size_t i = 0; i < same.size(); ++i)
      same[i] = static_cast<double>((i * 7919) % 101) / 101;
    d.s.fill(*d.a, same);
    d.request.seed = seed;
    d.request.iterations = 0;
    d.s.run(d.request);
    return d.s.elements_now(*d.u);
  };
  EXPECT_EQ(first(1), first(1));
  EXPECT_NE(first(1), first(2));
}

TEST(SolverSvd, JacobiFindsSmallValuesToAHighRelativeAccuracy) {
  scene s;
  if (s.on_gpu()) GTEST_SKIP() << "what cuSOLVER's Jacobi method promises is absolute";
  // Columns from 1e-8 up to 1, of a well-conditioned matrix. The other drivers are off by 10 %
  // here.
  constexpr std::int64_t n = 9;
  auto& a = matrices(s, dtype::f32, {}, n, n, arrangement::column);
  make_hermitian(s, a, spectrum::repeated, true);
  std::vector<number> values = a.values;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] *= std::pow(10.0, static_cast<double>(i % n) - 8);
  s.fill(a, values);
  auto& found = vectors(s, dtype::f32, {}, n);
  s.run(solver::svd{.a = a.view,
                    .s = found.view,
                    .vectors = singular_vectors::none,
                    .driver = svd_driver::jacobi});
  scene exact;
  auto& wide = matrices(exact, dtype::f64, {}, n, n, arrangement::column);
  exact.fill(wide, a.values);
  auto& expected = vectors(exact, dtype::f64, {}, n);
  exact.run(solver::svd{.a = wide.view,
                        .s = expected.view,
                        .vectors = singular_vectors::none,
                        .driver = svd_driver::jacobi});
  for (std::int64_t i = 0; i < n; ++i) {
    const double right = vector_now(exact, expected)(i, 0).real();
    EXPECT_NEAR(vector_now(s, found)(i, 0).real() / right, 1, 1e-4) << i;
  }
}

TEST(SolverSvd, RefusesToDecomposeWhatIsNotFinite) {
  for (const dtype type : classic_types) {
    for (const svd_driver driver :
         {svd_driver::automatic, svd_driver::qr, svd_driver::jacobi, svd_driver::polar,
          svd_driver::randomised, svd_driver::approximate}) {
      decomposition d({.type = type,
                       .batch = {3},
                       .mn = {6, 5},
                       .how = arrangement::row,
                       .vectors = singular_vectors::thin,
                       .driver = driver,
                       .rank = 5});
      std::vector<number> values = d.a->values;
      values[30 + 7] = std::numeric_limits<double>::quiet_NaN();
      d.s.fill(*d.a, values);
      auto& info = numbers(d.s, dtype::i32, {3});
      d.request.info = info.view;
      expect_numerical(d.s, d.s.attempt(d.request),
                       "matrix 1: not finite: the matrix has infinities or NaNs");
      EXPECT_EQ(d.s.elements_now(info), (std::vector<number>{0, -1, 0}));
      const wide_matrix before = d.a->before(2);
      const wide_matrix back = wide_matrix(d.s.now(*d.u, 2)) *
                               diagonal(5, 5, vector_now(d.s, *d.values, 2)) * d.s.now(*d.vh, 2);
      expect_small(d.s, ratio(back - before, 6, norm_of(before), type), "u·s·vh − a");
    }
  }
}

TEST(SolverSvd, RefusesWhatItCannotDo) {
  scene s;
  const auto type = dtype::c64;
  const auto a = matrices(s, type, {}, 5, 3, arrangement::row).view;
  const auto values = vectors(s, dtype::f32, {}, 3).view;
  const auto u = matrices(s, type, {}, 5, 3, arrangement::row).view;
  const auto vh = matrices(s, type, {}, 3, 3, arrangement::row).view;
  s.refuse(solver::svd{.a = a, .s = values}, errc::invalid_argument, "u");
  s.refuse(solver::svd{.a = a, .s = values, .u = u, .vh = vh, .vectors = singular_vectors::none},
           errc::invalid_argument, "u");
  s.refuse(solver::svd{.a = a, .s = values, .u = u, .vh = vh, .vectors = singular_vectors::full},
           errc::shape_mismatch, "u");
  s.refuse(solver::svd{.a = a, .s = vectors(s, type, {}, 3).view, .u = u, .vh = vh},
           errc::type_mismatch, "s");
  s.refuse(solver::svd{.a = a, .s = values, .u = u, .vh = vh, .seed = 5}, errc::invalid_argument,
           "seed");
  s.refuse(solver::svd{.a = a,
                       .s = vectors(s, dtype::f32, {}, 4).view,
                       .vectors = singular_vectors::none,
                       .driver = svd_driver::randomised},
           errc::shape_mismatch, "s has 4 singular values of each matrix; a has 1 to 3");
  s.refuse(solver::svd{.a = a,
                       .s = values,
                       .u = matrices(s, type, {}, 5, 5, arrangement::row).view,
                       .vh = vh,
                       .vectors = singular_vectors::full,
                       .driver = svd_driver::approximate},
           errc::shape_mismatch);
}

}  // namespace
}  // namespace troupe::conformance
