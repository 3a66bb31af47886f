#include "matrices.hpp"

#include <troupe/solver/refined.hpp>

namespace troupe::conformance {
namespace {

constexpr dtype refined_types[] = {dtype::f64, dtype::c128};

TEST(SolverRefined, SolvesToFullPrecision) {
  for (const dtype type : refined_types) {
    for (const arrangement how : arrangements) {
      for (const std::int64_t n : {0, 1, 33, 100}) {
        for (const bool in_place : {false, true}) {
          const std::vector<std::int64_t> batch(n == 33 ? 2 : 0, 2);
          scene s;
          s.name(case_name(type, n, n, how));
          auto& a = matrices(s, type, batch, n, n, how);
          s.make_solvable(a);
          auto& b = matrices(s, type, batch, n, 3, how);
          auto& x = in_place ? b : matrices(s, type, batch, n, 3, arrangement::row);
          auto& iterations = numbers(s, dtype::i32, batch);
          auto& info = numbers(s, dtype::i32, batch);
          s.run(solver::gesv_refined{.a = a.view,
                                     .b = b.view,
                                     .x = x.view,
                                     .iterations = iterations.view,
                                     .info = info.view});
          const std::vector<number> refinements = s.elements_now(iterations);
          for (std::size_t i = 0; i < refinements.size(); ++i) {
            const auto at = static_cast<std::int64_t>(i);
            const wide_matrix before = a.before(at);
            const wide_matrix found = s.now(x, at);
            expect_small(
                s, ratio(before * found - b.before(at), n, norm_of(before) * norm_of(found), type),
                "a·x − b");
            if (n > 1) {
              EXPECT_GT(refinements[i].real(), 0) << "not refined" << s.note();
            }
          }
        }
      }
    }
  }
}

TEST(SolverRefined, FactorsInFullPrecisionWhereHalfOfItIsNotEnough) {
  for (const dtype type : refined_types) {
    scene s;
    auto& a = matrices(s, type, {}, 20, 20, arrangement::column);
    std::vector<number> values = a.values;
    values.front() *= 1e200;  // beyond f32
    s.fill(a, values);
    auto& b = matrices(s, type, {}, 20, 1, arrangement::column);
    auto& x = matrices(s, type, {}, 20, 1, arrangement::column);
    auto& iterations = numbers(s, dtype::i32, {});
    s.run(
        solver::gesv_refined{.a = a.view, .b = b.view, .x = x.view, .iterations = iterations.view});
    // cuSOLVER refined once on an H100, with the residual that is checked below.
    if (!s.on_gpu()) {
      EXPECT_LT(s.elements_now(iterations).front().real(), 0);
    }
    const wide_matrix before = a.before();
    const wide_matrix found = s.now(x);
    expect_small(s, ratio(before * found - b.before(), 20, norm_of(before) * norm_of(found), type),
                 "a·x − b");
  }
}

TEST(SolverRefined, SaysWhichPivotIsZero) {
  for (const dtype type : refined_types) {
    scene s;
    auto& a = matrices(s, type, {2}, 3, 3, arrangement::row);
    s.fill(a, {2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 1});
    auto& b = matrices(s, type, {2}, 3, 1, arrangement::row);
    auto& x = matrices(s, type, {2}, 3, 1, arrangement::row);
    auto& info = numbers(s, dtype::i32, {2});
    expect_numerical(
        s,
        s.attempt(solver::gesv_refined{.a = a.view, .b = b.view, .x = x.view, .info = info.view}),
        "matrix 1: singular: pivot 2 is zero");
    EXPECT_EQ(s.elements_now(info), (std::vector<number>{0, 2}));
  }
}

TEST(SolverRefined, RefusesWhatItCannotDo) {
  scene s;
  const auto a = matrices(s, dtype::f32, {}, 3, 3, arrangement::row).view;
  const auto b = matrices(s, dtype::f32, {}, 3, 1, arrangement::row).view;
  const auto x = matrices(s, dtype::f32, {}, 3, 1, arrangement::row).view;
  s.refuse(solver::gesv_refined{.a = a, .b = b, .x = x}, errc::type_mismatch, "f64");
}

}  // namespace
}  // namespace troupe::conformance
