#include "conformance/scene.hpp"

#include <troupe/blas/batched_factor.hpp>

#include <algorithm>

namespace troupe::conformance {
namespace {

constexpr std::int64_t batched_orders[] = {0, 1, 2, 7, 70};
constexpr std::int64_t batch_count = 3;

/// P · L · U from what getrf left.
matrix product_of_factors(const matrix& lu, const matrix& pivots, std::int64_t batch) {
  const matrix lower = triangular(lu, blas::uplo::lower, blas::diag::unit);
  matrix product = lower * triangular(lu, blas::uplo::upper);
  for (std::int64_t row = lu.rows - 1; row >= 0; --row) {
    const auto other = static_cast<std::int64_t>(pivots(batch, row).real()) - 1;
    for (std::int64_t j = 0; j < lu.columns; ++j)
      std::swap(product(row, j), product(other, j));
  }
  return product;
}

void expect_close(scene& s, dtype type, const matrix& actual, const matrix& expected,
                  const matrix& bound, std::int64_t terms) {
  for (std::int64_t i = 0; i < expected.rows; ++i) {
    for (std::int64_t j = 0; j < expected.columns; ++j) {
      s.expect_near(type, actual(i, j), expected(i, j), bound(i, j).real(), terms, real_of(type),
                    "[" + std::to_string(i) + ", " + std::to_string(j) + "]");
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(BlasFactor, GetrfFactorsWithPivots) {
  for (const dtype type : classic_types) {
    for (const layout l : column_layouts) {
      for (const std::int64_t n : batched_orders) {
        scene s;
        s.name(std::string(to_string(type)) + " n=" + std::to_string(n));
        auto& a = s.batch(type, batch_count, n, n, l);
        auto& pivots = s.tensor(dtype::i32, {batch_count, n}, {std::max<std::int64_t>(n, 1), 1});
        auto& info = s.vector(dtype::i32, batch_count);
        s.run(blas::getrf_batched{.a = a.view, .pivots = pivots.view, .info = info.view});
        s.expect_exactly(info, matrix(batch_count, 1));
        for (std::int64_t i = 0; i < batch_count; ++i) {
          const matrix lu = s.now(a, i);
          const matrix size = magnitude(triangular(lu, blas::uplo::lower, blas::diag::unit)) *
                              magnitude(triangular(lu, blas::uplo::upper));
          matrix bound(n, n);
          for (auto& one : bound.values) {
            for (const number& v : size.values)
              one = std::max(one.real(), v.real());  // rows move: the largest bounds all
          }
          expect_close(s, type, product_of_factors(lu, s.now(pivots), i), a.before(i), bound, n);
        }
      }
    }
  }
}

TEST(BlasFactor, GetrfTellsWhichMatrixIsSingularAndWhere) {
  for (const dtype type : classic_types) {
    scene s;
    auto& a = s.batch(type, 2, 3, 3, layout::column);
    std::vector<number> values = a.values;
    for (std::size_t i = 0; i < 9; ++i)
      values[9 + i] = i % 3 == 1 ? number(0) : values[i];  // the second one lacks column 1
    s.fill(a, values);
    auto& pivots = s.tensor(dtype::i32, {2, 3}, {3, 1});
    auto& info = s.vector(dtype::i32, 2);
    s.run(blas::getrf_batched{.a = a.view, .pivots = pivots.view, .info = info.view});
    EXPECT_EQ(s.now(info)(0, 0), number(0));
    EXPECT_EQ(s.now(info)(1, 0), number(2));
  }
}

TEST(BlasFactor, GetrsSolvesAndGetriInverts) {
  for (const dtype type : classic_types) {
    for (const layout l : column_layouts) {
      for (const std::int64_t n : batched_orders) {
        scene s;
        s.name(std::string(to_string(type)) + " n=" + std::to_string(n));
        auto& a = s.batch(type, batch_count, n, n, l);
        s.make_solvable(a);
        auto& pivots = s.tensor(dtype::i32, {batch_count, n}, {std::max<std::int64_t>(n, 1), 1});
        auto& info = s.vector(dtype::i32, batch_count);
        s.run(blas::getrf_batched{.a = a.view, .pivots = pivots.view, .info = info.view});
        std::vector<number> factors, found;
        for (std::int64_t i = 0; i < batch_count; ++i) {
          const matrix lu = s.now(a, i);
          factors.insert(factors.end(), lu.values.begin(), lu.values.end());
        }
        const std::vector<number> places = s.now(pivots).values;
        const test_tensor original = a;

        for (const blas::storage_op op : storage_ops) {
          if (op == blas::storage_op::conjugate) continue;
          scene solve;
          auto& lu = solve.batch(type, batch_count, n, n, l);
          auto& rows =
              solve.tensor(dtype::i32, {batch_count, n}, {std::max<std::int64_t>(n, 1), 1});
          auto& b = solve.batch(type, batch_count, n, 4, l);
          solve.fill(lu, factors);
          solve.fill(rows, places);
          solve.run(
              blas::getrs_batched{.a = lu.view, .pivots = rows.view, .b = b.view, .op_a = op});
          for (std::int64_t i = 0; i < batch_count; ++i)
            solve.expect_solution(b, applied(op, original.before(i)), b.before(i), i);
        }

        scene invert;
        auto& lu = invert.batch(type, batch_count, n, n, l);
        auto& rows = invert.tensor(dtype::i32, {batch_count, n}, {std::max<std::int64_t>(n, 1), 1});
        auto& c = invert.batch(type, batch_count, n, n, layout::column_padded);
        auto& good = invert.vector(dtype::i32, batch_count);
        invert.fill(lu, factors);
        invert.fill(rows, places);
        invert.run(
            blas::getri_batched{.a = lu.view, .pivots = rows.view, .c = c.view, .info = good.view});
        invert.expect_exactly(good, matrix(batch_count, 1));
        matrix one(n, n);
        for (std::int64_t i = 0; i < n; ++i)
          one(i, i) = 1;
        for (std::int64_t i = 0; i < batch_count; ++i)
          invert.expect_solution(c, original.before(i), one, i);
      }
    }
  }
}

TEST(BlasFactor, GetriTellsOfASingularMatrix) {
  scene s;
  auto& lu = s.batch(dtype::f64, 1, 3, 3, layout::column);
  s.fill(lu, {1, 2, 3, 0.5, 0, 1, 0.5, 0.5, 2});  // U[1, 1] is zero
  auto& pivots = s.tensor(dtype::i32, {1, 3}, {3, 1});
  s.fill(pivots, {1, 2, 3});
  auto& c = s.batch(dtype::f64, 1, 3, 3, layout::column);
  auto& info = s.vector(dtype::i32, 1);
  s.run(blas::getri_batched{.a = lu.view, .pivots = pivots.view, .c = c.view, .info = info.view});
  EXPECT_EQ(s.now(info)(0, 0), number(2));
}

TEST(BlasFactor, GeqrfFactorsIntoReflectorsAndR) {
  for (const dtype type : classic_types) {
    for (const layout l : column_layouts) {
      for (const auto& [m, n] :
           {std::pair<std::int64_t, std::int64_t>{0, 3}, {1, 1}, {5, 3}, {3, 5}, {40, 40}}) {
        scene s;
        s.name(std::string(to_string(type)) + " m=" + std::to_string(m) +
               " n=" + std::to_string(n));
        const std::int64_t k = std::min(m, n);
        auto& a = s.batch(type, batch_count, m, n, l);
        auto& tau = s.tensor(type, {batch_count, k}, {std::max<std::int64_t>(k, 1), 1});
        s.run(blas::geqrf_batched{.a = a.view, .tau = tau.view});
        for (std::int64_t i = 0; i < batch_count; ++i) {
          const matrix qr = s.now(a, i);
          // Q · R, applying H_j = 1 − tau_j v_j v_jᴴ from the last to the first.
          matrix product = triangular(qr, blas::uplo::upper);
          for (std::int64_t j = k - 1; j >= 0; --j) {
            matrix v(m, 1);
            v(j, 0) = 1;
            for (std::int64_t row = j + 1; row < m; ++row)
              v(row, 0) = qr(row, j);
            product = product - s.now(tau)(i, j) * (v * (adjoint(v) * product));
          }
          matrix bound(m, n);
          for (number& one : bound.values)
            one = 2.0 * std::sqrt(static_cast<double>(m));
          expect_close(s, type, product, a.before(i), bound, m + n);
        }
      }
    }
  }
}

TEST(BlasFactor, RefuseWhatTheyCannotDo) {
  scene s;
  const auto batch = [&](dtype type, std::int64_t m, std::int64_t n, layout l = layout::column) {
    return s.batch(type, 2, m, n, l).view;
  };
  const auto pivots = s.tensor(dtype::i32, {2, 3}, {3, 1}).view;
  const auto info = s.vector(dtype::i32, 2).view;
  const auto f32 = dtype::f32;
  const auto a = batch(f32, 3, 3);
  s.refuse(blas::getrf_batched{.a = batch(f32, 3, 3, layout::row), .pivots = pivots, .info = info},
           errc::layout_unsupported, "a must be column-major");
  s.refuse(
      blas::getrf_batched{
          .a = a, .pivots = s.tensor(dtype::i32, {2, 3}, {4, 1}).view, .info = info},
      errc::layout_unsupported, "pivots must be packed");
  s.refuse(blas::getrs_batched{.a = a, .pivots = pivots, .b = batch(f32, 4, 2)},
           errc::shape_mismatch, "b must have 3 rows (n) because a is [2, 3, 3]");
  s.refuse(
      blas::getrs_batched{
          .a = a, .pivots = pivots, .b = batch(f32, 3, 2), .op_a = blas::storage_op::conjugate},
      errc::unsupported, "op_a is conjugate");
  s.refuse(blas::geqrf_batched{.a = batch(f32, 5, 3), .tau = s.tensor(f32, {2, 5}, {5, 1}).view},
           errc::shape_mismatch, "tau is [2, 5]");

  // A bad pivot is data, so it is found when the request runs, and followed nowhere.
  auto& wild = s.tensor(dtype::i32, {2, 3}, {3, 1});
  s.fill(wild, {1, 2, 3, 1, 1000000, 3});
  const auto answer =
      s.attempt(blas::getrs_batched{.a = a, .pivots = wild.view, .b = batch(f32, 3, 2)});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, errc::invalid_argument);
  EXPECT_NE(answer.error().message.find("pivots[1, 1] is 1000000"), std::string::npos);
}

}  // namespace
}  // namespace troupe::conformance
