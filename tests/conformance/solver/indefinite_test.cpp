#include "matrices.hpp"

#include <troupe/solver/indefinite.hpp>

#include <algorithm>

namespace troupe::conformance {
namespace {

/// A symmetric or Hermitian matrix of random numbers, so with eigenvalues of any sign. Without a
/// diagonal, only 2×2 blocks can be pivots at first.
void make_indefinite(scene& s, test_tensor& t, bool hermitian, bool has_diagonal) {
  std::vector<number> values = t.values;
  const auto n = static_cast<std::size_t>(t.view.extent(t.view.rank() - 1));
  for (std::size_t first = 0; first < values.size(); first += n * n) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const number v = values[first + i * n + j];
        values[first + j * n + i] = hermitian ? std::conj(v) : v;
      }
      number& own = values[first + i * n + i];
      if (hermitian) own = own.real();
      if (!has_diagonal) own = 0;
    }
  }
  s.fill(t, values);
}

wide_matrix transposed(const wide_matrix& a) {
  wide_matrix t(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j)
      t(j, i) = a(i, j);
  }
  return t;
}

/// The matrix that a factor of LAPACK's format stands for: for each block, from the last that was
/// eliminated, m becomes P · T · m · Tᵀ · Pᵀ with the block's exchange and multipliers.
wide_matrix product_of_blocks(const matrix& factor, const matrix& pivots, blas::uplo uplo,
                              bool hermitian) {
  const std::int64_t n = factor.rows;
  const bool lower = uplo == blas::uplo::lower;
  const wide_matrix f = factor;
  const auto flipped = [&](const wide_matrix& a) { return hermitian ? adjoint(a) : transposed(a); };
  const auto pivot = [&](std::int64_t i) { return static_cast<std::int64_t>(pivots(i, 0).real()); };
  std::vector<std::pair<std::int64_t, std::int64_t>> blocks;  // first and size, in memory's order
  for (std::int64_t i = 0; i < n; i += blocks.back().second)
    blocks.emplace_back(i, pivot(i) < 0 ? 2 : 1);
  if (lower) std::ranges::reverse(blocks);
  wide_matrix m(n, n);
  for (const auto& [first, size] : blocks) {
    for (std::int64_t i = first; i < first + size; ++i)
      m(i, i) = f(i, i);
    if (size == 1) continue;
    const auto beside = lower ? f(first + 1, first) : f(first, first + 1);
    m(first + 1, first) = lower || !hermitian ? beside : std::conj(beside);
    m(first, first + 1) = lower && hermitian ? std::conj(beside) : beside;
  }
  for (const auto& [first, size] : blocks) {
    wide_matrix t = identity(n);
    for (std::int64_t j = first; j < first + size; ++j) {
      const std::int64_t from = lower ? first + size : 0;
      const std::int64_t to = lower ? n : first;
      for (std::int64_t i = from; i < to; ++i)
        t(i, j) = f(i, j);
    }
    const std::int64_t own = size == 2 && lower ? first + 1 : first;
    const std::int64_t other = std::abs(pivot(first)) - 1;
    for (std::int64_t j = 0; j < n && own != other; ++j)
      std::swap(t(own, j), t(other, j));
    m = flipped(t * flipped(t * m));  // t is nearly the identity, which products from the left use
  }
  return m;
}

struct indefinite_case {
  dtype type;
  std::vector<std::int64_t> batch{};
  std::int64_t n;
  arrangement how;
  blas::uplo uplo;
  bool in_place = false;
  bool has_diagonal = true;
};

template <class Factor>
void expect_blocks(const indefinite_case& c, bool hermitian) {
  scene s;
  s.name(case_name(c.type, c.n, c.n, c.how) + (c.in_place ? " in place" : ""));
  auto& a = matrices(s, c.type, c.batch, c.n, c.n, c.how);
  make_indefinite(s, a, hermitian, c.has_diagonal);
  const std::vector<number> whole = a.values;
  if (!c.in_place) s.hide_all_but(a, c.uplo, blas::diag::non_unit, hermitian);
  auto& factor = c.in_place ? a
                            : matrices(s, c.type, c.batch, c.n, c.n,
                                       c.how == arrangement::row ? arrangement::column : c.how);
  auto& pivots = vectors(s, dtype::i64, c.batch, c.n);
  auto& info = numbers(s, dtype::i32, c.batch);
  s.run(Factor{.a = a.view,
               .factor = factor.view,
               .pivots = pivots.view,
               .info = info.view,
               .uplo = c.uplo});
  for (const number& v : s.elements_now(info))
    EXPECT_EQ(v, number(0)) << s.note();
  const auto size = static_cast<std::size_t>(c.n * c.n);
  const auto count = static_cast<std::int64_t>(s.elements_now(info).size());
  for (std::int64_t i = 0; i < count; ++i) {
    matrix before(c.n, c.n);
    const auto first = whole.begin() + static_cast<std::ptrdiff_t>(size) * i;
    std::copy_n(first, size, before.values.begin());
    const matrix found = s.now(factor, i);
    for (std::int64_t row = 0; row < c.n; ++row) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        if (c.uplo == blas::uplo::lower ? j <= row : j >= row) continue;
        EXPECT_EQ(found(row, j), c.in_place ? before(row, j) : number(0)) << s.note();
      }
    }
    const wide_matrix product =
        product_of_blocks(found, vector_now(s, pivots, i), c.uplo, hermitian);
    expect_small(s, ratio(product - before, c.n, norm_of(before), c.type), "the product − a");
  }
}

template <class Factor>
void expect_all_blocks(dtype type, bool hermitian) {
  for (const blas::uplo uplo : triangles) {
    for (const arrangement how : arrangements) {
      for (const std::int64_t n : {0, 1, 2, 7, 33}) {
        for (const bool in_place : {false, true})
          expect_blocks<Factor>(
              {.type = type, .n = n, .how = how, .uplo = uplo, .in_place = in_place}, hermitian);
      }
      expect_blocks<Factor>({.type = type, .batch = {2, 3}, .n = 12, .how = how, .uplo = uplo},
                            hermitian);
    }
    for (const std::int64_t n : {2, 8, 40})
      expect_blocks<Factor>(
          {.type = type, .n = n, .how = arrangement::column, .uplo = uplo, .has_diagonal = false},
          hermitian);
    expect_blocks<Factor>(
        {.type = type, .batch = {0}, .n = 4, .how = arrangement::row, .uplo = uplo}, hermitian);
  }
}

template <class Factor, class Solve>
void expect_solves(dtype type, bool hermitian) {
  for (const blas::uplo uplo : triangles) {
    for (const arrangement how : arrangements) {
      for (const std::int64_t n : {0, 1, 2, 33}) {
        scene s;
        const std::vector<std::int64_t> batch(n == 33 ? 1 : 0, 2);
        s.name(case_name(type, n, n, how));
        auto& a = matrices(s, type, batch, n, n, arrangement::column);
        make_indefinite(s, a, hermitian, true);
        auto& factor = matrices(s, type, batch, n, n, arrangement::column);
        auto& pivots = vectors(s, dtype::i64, batch, n);
        s.run(Factor{.a = a.view, .factor = factor.view, .pivots = pivots.view, .uplo = uplo});
        const auto factors = s.elements_now(factor);
        const auto places = s.elements_now(pivots);
        for (const bool in_place : {false, true}) {
          scene solve;
          solve.name(case_name(type, n, n, how) + (in_place ? " in place" : ""));
          auto& same = matrices(solve, type, batch, n, n, how);
          auto& its = vectors(solve, dtype::i64, batch, n);
          auto& b = matrices(solve, type, batch, n, 4, how);
          auto& x = in_place ? b : matrices(solve, type, batch, n, 4, arrangement::row);
          solve.fill(same, factors);
          solve.hide_all_but(same, uplo);
          solve.fill(its, places);
          solve.run(Solve{
              .factor = same.view, .pivots = its.view, .b = b.view, .x = x.view, .uplo = uplo});
          for (std::int64_t i = 0; i < (batch.empty() ? 1 : 2); ++i) {
            const wide_matrix before = a.before(i);
            const wide_matrix found = solve.now(x, i);
            expect_small(
                solve,
                ratio(before * found - b.before(i), n, norm_of(before) * norm_of(found), type),
                "a·x − b");
          }
        }
      }
    }
  }
}

TEST(SolverIndefinite, SytrfFactorsInBlocks) {
  for (const dtype type : classic_types)
    expect_all_blocks<solver::sytrf>(type, false);
}

TEST(SolverIndefinite, SytrsSolves) {
  for (const dtype type : classic_types)
    expect_solves<solver::sytrf, solver::sytrs>(type, false);
}

TEST(SolverIndefinite, HetrfFactorsInBlocks) {
  for (const dtype type : complex_types)
    expect_all_blocks<solver::hetrf>(type, true);
}

TEST(SolverIndefinite, HetrsSolves) {
  for (const dtype type : complex_types)
    expect_solves<solver::hetrf, solver::hetrs>(type, true);
}

template <class Factor>
void expect_zero_block(std::span<const dtype> types) {
  for (const dtype type : types) {
    for (const blas::uplo uplo : triangles) {
      scene s;
      auto& a = matrices(s, type, {2}, 5, 5, arrangement::column);
      std::vector<number> values(50);
      for (std::size_t i = 0; i < 10; ++i)
        values[5 * i + i % 5] = i == 7 ? 0 : 1;  // diag(1, 1, 0, 1, 1), the second one
      s.fill(a, values);
      auto& factor = matrices(s, type, {2}, 5, 5, arrangement::row);
      auto& pivots = vectors(s, dtype::i64, {2}, 5);
      auto& info = numbers(s, dtype::i32, {2});
      expect_numerical(s,
                       s.attempt(Factor{.a = a.view,
                                        .factor = factor.view,
                                        .pivots = pivots.view,
                                        .info = info.view,
                                        .uplo = uplo}),
                       "matrix 1: singular: pivot 3 is zero");
      EXPECT_EQ(s.elements_now(info), (std::vector<number>{0, 3})) << s.note();
    }
  }
}

TEST(SolverIndefinite, SytrfSaysWhichBlockIsZero) {
  expect_zero_block<solver::sytrf>(classic_types);
}
TEST(SolverIndefinite, HetrfSaysWhichBlockIsZero) {
  expect_zero_block<solver::hetrf>(complex_types);
}

/// Bad pivots are data, so they are found when the request runs, and followed nowhere.
template <class Solve>
void expect_refused_pivots() {
  const auto refused = [&](const std::vector<number>& pivots, std::string_view text) {
    scene s;
    auto& factor = matrices(s, dtype::c64, {2}, 3, 3, arrangement::row);
    auto& wild = vectors(s, dtype::i64, {2}, 3);
    s.fill(wild, pivots);
    auto& b = matrices(s, dtype::c64, {2}, 3, 2, arrangement::row);
    const auto answer =
        s.attempt(Solve{.factor = factor.view, .pivots = wild.view, .b = b.view, .x = b.view});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, errc::invalid_argument);
    EXPECT_EQ(answer.error().message, text);
  };
  const std::string end = ", not within 1 and 3 nor one of a negative pair";
  refused({1, 2, 3, 1, 1000000, 3}, "matrix 1: pivots[1] is 1000000" + end);
  refused({1, 2, 0, 1, 2, 3}, "matrix 0: pivots[2] is 0" + end);
  refused({1, -3, -3, -2, -2, -3}, "matrix 1: pivots[2] is -3" + end);
  refused({-2, -3, 3, 1, 2, 3}, "matrix 0: pivots[0] is -2" + end);
  refused({-4, -4, 3, 1, 2, 3}, "matrix 0: pivots[0] is -4" + end);
}

TEST(SolverIndefinite, SytrsRefusesBadPivots) { expect_refused_pivots<solver::sytrs>(); }
TEST(SolverIndefinite, HetrsRefusesBadPivots) { expect_refused_pivots<solver::hetrs>(); }

TEST(SolverIndefinite, RefusesWhatItCannotDo) {
  scene s;
  const auto f32 = dtype::f32;
  const auto a = matrices(s, f32, {2}, 3, 3, arrangement::row).view;
  const auto b = matrices(s, f32, {2}, 3, 2, arrangement::row).view;
  const auto x = matrices(s, f32, {2}, 3, 2, arrangement::row).view;
  s.refuse(solver::hetrf{.a = a, .factor = a, .pivots = vectors(s, dtype::i64, {2}, 3).view},
           errc::type_mismatch, "a");
  s.refuse(solver::sytrf{.a = a, .factor = a, .pivots = vectors(s, dtype::i32, {2}, 3).view},
           errc::type_mismatch, "pivots");
  s.refuse(solver::sytrf{.a = b, .factor = x, .pivots = vectors(s, dtype::i64, {2}, 3).view},
           errc::shape_mismatch);
}

}  // namespace
}  // namespace troupe::conformance
