#include "matrices.hpp"

#include <troupe/solver/sparse_direct.hpp>

#include <algorithm>
#include <limits>

namespace troupe::conformance {
namespace {

constexpr dtype value_types[] = {dtype::f32, dtype::f64};
constexpr dtype index_types[] = {dtype::i32, dtype::i64};
constexpr solver::ordering orderings[] = {solver::ordering::automatic, solver::ordering::none};

/// The operands of a solve with a matrix that is given densely; what is exactly zero is left out.
struct sparse_system {
  matrix a;
  test_tensor* offsets;
  test_tensor* columns;
  test_tensor* values;
  test_tensor* b;
  test_tensor* x;

  sparse_system(scene& s, const matrix& dense, dtype type, dtype index, arrangement how,
                bool in_place = false, std::int64_t nrhs = 3)
      : a(dense) {
    std::vector<number> starts{0};
    std::vector<number> places;
    std::vector<number> elements;
    for (std::int64_t i = 0; i < a.rows; ++i) {
      for (std::int64_t j = 0; j < a.columns; ++j) {
        if (a(i, j) == number(0)) continue;
        places.emplace_back(static_cast<double>(j));
        elements.push_back(a(i, j));
      }
      starts.emplace_back(static_cast<double>(places.size()));
    }
    const auto nnz = static_cast<std::int64_t>(places.size());
    offsets = &vectors(s, index, {}, a.rows + 1);
    columns = &vectors(s, index, {}, nnz);
    values = &vectors(s, type, {}, nnz);
    s.fill(*offsets, starts);
    s.fill(*columns, places);
    s.fill(*values, elements);
    // As rounded to the type.
    std::size_t k = 0;
    for (number& v : a.values) {
      if (v != number(0)) v = values->values[k++];
    }
    b = &matrices(s, type, {}, a.rows, nrhs, how);
    x = in_place ? b : &matrices(s, type, {}, a.columns, nrhs, how);
  }
  template <class R>
  [[nodiscard]] R request(solver::ordering ordering = solver::ordering::automatic) const {
    return {.offsets = offsets->view,
            .columns = columns->view,
            .values = values->view,
            .b = b->view,
            .x = x->view,
            .ordering = ordering};
  }
};

/// Some elements in each row, and a diagonal that is larger than them all.
matrix random_sparse(scene& s, std::int64_t m, std::int64_t n) {
  matrix a(m, n);
  for (std::int64_t i = 0; i < m; ++i) {
    for (int k = 0; k < 3 && n > 0; ++k)
      a(i, static_cast<std::int64_t>(s.generator()() % static_cast<std::uint64_t>(n))) =
          s.random(dtype::f64);
    if (i < n) a(i, i) = 8 + std::abs(s.random(dtype::f64));
  }
  return a;
}
matrix symmetric_part(const matrix& a) { return 0.5 * (a + transposed(a)); }

/// The matrix of five-point differences on a grid, which has 4 on its diagonal.
matrix grid(std::int64_t side) {
  const std::int64_t n = side * side;
  matrix a(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    a(i, i) = 4;
    if (i % side > 0) a(i, i - 1) = a(i - 1, i) = -1;
    if (i >= side) a(i, i - side) = a(i - side, i) = -1;
  }
  return a;
}

void expect_solved(scene& s, const sparse_system& e, dtype type) {
  const wide_matrix before = e.a;
  const wide_matrix found = s.now(*e.x);
  expect_small(
      s, ratio(before * found - e.b->before(), before.rows, norm_of(before) * norm_of(found), type),
      "a·x − b");
}

template <class R>
void expect_solves(bool symmetric) {
  for (const dtype type : value_types) {
    for (const dtype index : index_types) {
      for (const solver::ordering ordering : orderings) {
        for (const arrangement how : arrangements) {
          for (const std::int64_t n : {0, 1, 2, 33, 100}) {
            if (n == 100 && how != arrangement::column) continue;
            for (const bool in_place : {false, true}) {
              scene s;
              s.name(case_name(type, n, n, how));
              const matrix a = random_sparse(s, n, n);
              const sparse_system e(s, symmetric ? symmetric_part(a) : a, type, index, how,
                                    in_place);
              s.run(e.template request<R>(ordering));
              expect_solved(s, e, type);
            }
          }
        }
        scene s;
        const sparse_system e(s, grid(17), type, index, arrangement::row);
        s.run(e.template request<R>(ordering));
        expect_solved(s, e, type);
      }
    }
  }
}

TEST(SolverSparse, CholeskySolves) { expect_solves<solver::sparse_cholesky>(true); }
TEST(SolverSparse, LuSolves) { expect_solves<solver::sparse_lu>(false); }
TEST(SolverSparse, QrSolves) { expect_solves<solver::sparse_qr>(false); }

TEST(SolverSparse, QrFindsLeastSquares) {
  using size = std::pair<std::int64_t, std::int64_t>;
  for (const dtype type : value_types) {
    for (const solver::ordering ordering : orderings) {
      for (const auto& [m, n] : {size{5, 0}, {5, 1}, {40, 20}, {90, 30}}) {
        scene s;
        s.name(case_name(type, m, n, arrangement::row));
        const sparse_system e(s, random_sparse(s, m, n), type, dtype::i32, arrangement::row);
        s.run(e.request<solver::sparse_qr>(ordering));
        const wide_matrix before = e.a;
        const wide_matrix found = s.now(*e.x);
        const wide_matrix off = before * found - e.b->before();
        const long double size_of_it = norm_of(before) * norm_of(found) + norm_of(e.b->before());
        expect_small(s, ratio(adjoint(before) * off, m, norm_of(before) * size_of_it, type),
                     "aᴴ·(a·x − b)");
      }
    }
  }
}

TEST(SolverSparse, QrKeepsFactorsSparse) {
  // With rows as they come its factors fill up, and this takes minutes.
  scene s;
  const sparse_system e(s, grid(60), dtype::f64, dtype::i32, arrangement::row, false, 1);
  s.run(e.request<solver::sparse_qr>());
  // Naive products of dense matrices of this size would take as long: a's rows have five elements.
  const matrix found = s.now(*e.x);
  const matrix sides = e.b->before();
  double largest = 0;
  for (std::int64_t i = 0; i < found.rows; ++i) {
    number sum = -sides(i, 0);
    for (const std::int64_t j : {i - 60, i - 1, i, i + 1, i + 60}) {
      if (j >= 0 && j < found.rows) sum += e.a(i, j) * found(j, 0);
    }
    largest = std::max(largest, std::abs(sum));
  }
  EXPECT_LT(largest, 1e-11) << s.note();
}

/// Some requests with one pattern and other values: the second and the third use what is known.
template <class R>
void expect_solves_again(bool symmetric) {
  for (const dtype type : value_types) {
    scene pattern_of;
    const matrix a = random_sparse(pattern_of, 40, 40);
    for (int times = 0; times < 3; ++times) {
      scene s;
      matrix other = symmetric ? symmetric_part(a) : a;
      for (std::int64_t i = 0; i < 40; ++i) {
        for (std::int64_t j = 0; j < 40; ++j) {
          const double by = 1 + 0.5 * times / static_cast<double>(1 + i + j);
          other(i, j) *= by;
        }
      }
      const sparse_system e(s, other, type, dtype::i64, arrangement::column);
      s.run(e.template request<R>());
      expect_solved(s, e, type);
    }
  }
}

TEST(SolverSparse, SolvesAgainWithOtherValues) {
  expect_solves_again<solver::sparse_cholesky>(true);
  expect_solves_again<solver::sparse_lu>(false);
  expect_solves_again<solver::sparse_qr>(false);
}

TEST(SolverSparse, SolvesMorePatternsThanAreKept) {
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t side = 1; side < 21; ++side) {
      scene s;
      const sparse_system e(s, grid(side), dtype::f64, dtype::i32, arrangement::row);
      s.run(e.request<solver::sparse_lu>());
      expect_solved(s, e, dtype::f64);
    }
  }
}

TEST(SolverSparse, SaysWhatHasNoAnswer) {
  for (const dtype type : value_types) {
    for (const solver::ordering ordering : orderings) {
      scene s;
      matrix a = grid(3);
      a(4, 4) = -4;
      const sparse_system indefinite(s, a, type, dtype::i32, arrangement::row);
      expect_numerical(s, s.attempt(indefinite.request<solver::sparse_cholesky>(ordering)),
                       "not positive definite");
      // It has an LU all the same, and with the values of another one a Cholesky factor.
      s.run(indefinite.request<solver::sparse_lu>(ordering));
      scene again;
      const sparse_system definite(again, grid(3), type, dtype::i32, arrangement::row);
      again.run(definite.request<solver::sparse_cholesky>(ordering));
      expect_solved(again, definite, type);

      // Two rows that are the same, and a column that is empty.
      for (const bool empty_column : {false, true}) {
        scene singular;
        matrix b = grid(3);
        for (std::int64_t j = 0; j < 9; ++j) {
          if (empty_column) {
            b(j, 5) = 0;
          } else {
            b(6, j) = b(2, j);
          }
        }
        const sparse_system e(singular, b, type, dtype::i64, arrangement::row);
        expect_numerical(singular, singular.attempt(e.request<solver::sparse_lu>(ordering)),
                         "singular");
        expect_numerical(singular, singular.attempt(e.request<solver::sparse_qr>(ordering)),
                         "rank deficient: rank 8 of 9");
      }

      scene wild;
      const sparse_system infinite(wild, grid(3), type, dtype::i32, arrangement::row);
      wild.fill(*infinite.values, number(std::numeric_limits<double>::infinity()));
      expect_numerical(wild, wild.attempt(infinite.request<solver::sparse_lu>(ordering)),
                       "not finite: the matrix has infinities or NaNs");
    }
  }
}

TEST(SolverSparse, RefusesAPatternThatIsNone) {
  struct wrong {
    std::vector<number> offsets;
    std::vector<number> columns;
    std::string_view message;
  };
  const wrong cases[] = {
      {{1, 2, 4}, {0, 1, 0, 1}, "offsets[0] is 1, not 0"},
      {{0, 3, 4}, {0, 1, 1, 1}, "columns[2] is 1, not above the one before in row 0, 1"},
      {{0, 5, 4}, {0, 1, 0, 1}, "offsets[2] is 4, less than the one before, 5"},
      {{0, 2, 3}, {0, 1, 0, 1}, "offsets[2] is 3, not the number of elements, 4"},
      {{0, 2, 4}, {0, 1, 0, 2}, "columns[3] is 2, not below the number of columns, 2"},
      {{0, 2, 4}, {-1, 1, 0, 1}, "columns[0] is -1, not below the number of columns, 2"},
  };
  for (const dtype index : index_types) {
    for (const wrong& w : cases) {
      scene s;
      matrix full(2, 2);
      std::ranges::fill(full.values, number(1));
      const sparse_system e(s, full, dtype::f64, index, arrangement::row);
      s.fill(*e.offsets, w.offsets);
      s.fill(*e.columns, w.columns);
      const auto check = [&](const result<void>& answer) {
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().code, errc::invalid_argument);
        EXPECT_EQ(answer.error().message, w.message);
      };
      check(s.attempt(e.request<solver::sparse_cholesky>()));
      check(s.attempt(e.request<solver::sparse_lu>()));
      check(s.attempt(e.request<solver::sparse_qr>()));
    }
  }
}

TEST(SolverSparse, RefusesWhatItCannotDo) {
  scene s;
  const sparse_system e(s, grid(2), dtype::f64, dtype::i32, arrangement::row);
  auto r = e.request<solver::sparse_lu>();
  r.offsets = vectors(s, dtype::i32, {}, 4).view;
  s.refuse(r, errc::shape_mismatch, "offsets");
  r = e.request<solver::sparse_lu>();
  r.columns = vectors(s, dtype::i64, {}, r.columns.extent(0)).view;
  s.refuse(r, errc::type_mismatch, "columns");
  r = e.request<solver::sparse_lu>();
  r.values = vectors(s, dtype::f32, {}, r.values.extent(0)).view;
  s.refuse(r, errc::type_mismatch);
  auto qr = e.request<solver::sparse_qr>();
  qr.x = matrices(s, dtype::f64, {}, 5, 3, arrangement::row).view;
  s.refuse(qr, errc::shape_mismatch, "a must have as many rows as columns, or more; it is [4, 5]");
}

}  // namespace
}  // namespace troupe::conformance
