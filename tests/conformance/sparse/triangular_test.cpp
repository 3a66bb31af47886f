#include "sparse_matrices.hpp"

#include <troupe/sparse/triangular.hpp>

#include <limits>

namespace troupe::conformance {
namespace {

struct solve_case {
  sparse_format format = sparse_format::csr;
  dtype type = dtype::f64;
  dtype index = dtype::i32;
  std::int64_t n = 0;
  blas::uplo uplo = blas::uplo::lower;
  blas::diag diag = blas::diag::non_unit;
  blas::storage_op op = blas::storage_op::none;
  bool ordered = true;

  [[nodiscard]] std::string text() const {
    return case_name({format, type, index, n, n, 0, ordered}, "solve") + " uplo " +
           std::to_string(static_cast<int>(uplo)) + " diag " +
           std::to_string(static_cast<int>(diag)) + " op " + std::to_string(static_cast<int>(op));
  }
};

/// A matrix with all of its diagonal, which keeps solutions small, and its triangle as a dense one.
/// Elements that must not be read are NaN.
struct triangular_system {
  test_sparse a;
  matrix dense;
};

triangular_system system_of(scene& s, const solve_case& c) {
  std::vector<sparse_element> elements;
  for (std::int64_t i = 0; i < c.n; ++i) {
    const std::int64_t some = i % 4 == 3 ? 0 : 5;  // rows of the diagonal alone, too
    for (std::int64_t e = 0; e < some; ++e) {
      const auto j = static_cast<std::int64_t>(s.generator()() % static_cast<std::uint64_t>(c.n));
      if (j != i) elements.push_back({i, j});
    }
    elements.push_back({i, i});
    if (!c.ordered) elements.push_back({i, i});
  }
  triangular_system made{
      .a = sparse_of(s, {c.format, c.type, c.index, c.n, c.n, 0, c.ordered}, elements),
      .dense = {}};
  std::vector<number> values = made.a.values->values;
  std::vector<number> hidden = values;
  for (std::size_t e = 0; e < values.size(); ++e) {
    const auto& at = made.a.places[e];
    if (at.row == at.column) values[e] = hidden[e] = number(4) + values[e];
    const bool read = at.row == at.column ? c.diag == blas::diag::non_unit
                                          : (at.column < at.row) == (c.uplo == blas::uplo::lower);
    if (!read) hidden[e] = std::numeric_limits<double>::quiet_NaN();
  }
  s.fill(*made.a.values, values);
  made.dense = applied(c.op, triangular(made.a.dense(), c.uplo, c.diag));
  s.fill(*made.a.values, hidden);
  return made;
}

void expect_vector(const solve_case& c, bool in_place, std::int64_t stride) {
  scene s;
  s.name(c.text() + (in_place ? " in place" : ""));
  const triangular_system of = system_of(s, c);
  auto& b = s.vector(c.type, c.n, stride);
  auto& x = in_place ? b : s.vector(c.type, c.n, 1);
  const scalar alpha = factor(c.type, 0.75, -0.5);
  const matrix right = as_number(alpha) * b.before();
  s.run(sparse::spsv{.a = of.a.a,
                     .b = b.view,
                     .x = x.view,
                     .alpha = alpha,
                     .uplo = c.uplo,
                     .diag = c.diag,
                     .op_a = c.op});
  s.expect_solution(x, of.dense, right);
}

void expect_matrix(const solve_case& c, std::int64_t nrhs, layout how, bool in_place) {
  scene s;
  s.name(c.text() + " nrhs " + std::to_string(nrhs) + " " + to_string(how) +
         (in_place ? " in place" : ""));
  const triangular_system of = system_of(s, c);
  auto& b = s.matrix_of(c.type, c.n, nrhs, how);
  auto& x = in_place ? b : s.matrix_of(c.type, c.n, nrhs, layout::row_padded);
  const scalar alpha = factor(c.type, -1.25, 0.5);
  const matrix right = as_number(alpha) * b.before();
  s.run(sparse::spsm{.a = of.a.a,
                     .b = b.view,
                     .x = x.view,
                     .alpha = alpha,
                     .uplo = c.uplo,
                     .diag = c.diag,
                     .op_a = c.op});
  s.expect_solution(x, of.dense, right);
}

template <class F>
void for_each_system(F f) {
  for (const sparse_format format : compressed_formats) {
    for (const dtype type : classic_types) {
      for (const blas::uplo uplo : triangles) {
        for (const blas::diag diag : diagonals) {
          for (const blas::storage_op op : storage_ops) {
            f(solve_case{.format = format, .type = type, .uplo = uplo, .diag = diag, .op = op});
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(SparseTriangular, SpsvSolvesEveryKindOfSystem) {
  for_each_system([](solve_case c) {
    for (const dtype index : index_types) {
      for (const std::int64_t n : {0, 1, 7, 130}) {
        c.index = index;
        c.n = n;
        c.ordered = n != 7;
        expect_vector(c, n == 130, n == 7 ? 3 : 1);
      }
    }
  });
}

TEST(SparseTriangular, SpsmSolvesEveryKindOfSystem) {
  for_each_system([](solve_case c) {
    for (const std::int64_t n : {0, 1, 40}) {
      for (const std::int64_t nrhs : {0, 1, 3, 45}) {
        c.n = n;
        c.index = nrhs == 3 ? dtype::i64 : dtype::i32;
        c.ordered = nrhs != 3;
        expect_matrix(c, nrhs, nrhs == 45 ? layout::column_padded : layout::row, nrhs == 3);
      }
    }
  });
}

// Each unknown needs the one before it.
TEST(SparseTriangular, SolvesALongChain) {
  for (const sparse_format format : compressed_formats) {
    for (const blas::storage_op op : {blas::storage_op::none, blas::storage_op::transpose}) {
      scene s;
      constexpr std::int64_t n = 1500;
      std::vector<sparse_element> elements;
      for (std::int64_t i = 0; i < n; ++i) {
        if (i > 0) elements.push_back({i, i - 1});
        elements.push_back({i, i});
      }
      const test_sparse a = sparse_of(s, {format, dtype::f64, dtype::i32, n, n, 0, true}, elements);
      std::vector<number> values;
      for (const auto& at : a.places)
        values.emplace_back(at.row == at.column ? 1 : -1);
      s.fill(*a.values, values);
      auto& b = s.vector(dtype::f64, n);
      s.fill(b, number(1));
      auto& x = s.vector(dtype::f64, n);
      s.run(sparse::spsv{.a = a.a, .b = b.view, .x = x.view, .op_a = op});
      const auto now = s.elements_now(x);
      for (std::int64_t i = 0; i < n; ++i) {
        const auto expected = static_cast<double>(op == blas::storage_op::none ? i + 1 : n - i);
        ASSERT_EQ(now[static_cast<std::size_t>(i)].real(), expected) << i << s.note();
      }
    }
  }
}

template <class R>
void expect_error(scene& s, const R& r, errc code, std::string_view text) {
  const auto answer = s.attempt(r);
  ASSERT_FALSE(answer) << s.note();
  EXPECT_EQ(answer.error().code, code) << s.note();
  EXPECT_NE(answer.error().message.find(text), std::string::npos)
      << answer.error().message << s.note();
}

TEST(SparseTriangular, SaysWhichDiagonalElementIsZeroOrNotThere) {
  for (const sparse_format format : compressed_formats) {
    for (const dtype type : classic_types) {
      for (const bool is_there : {false, true}) {
        for (const blas::storage_op op : {blas::storage_op::none, blas::storage_op::transpose}) {
          scene s;
          std::vector<sparse_element> elements;
          for (std::int64_t i = 0; i < 9; ++i) {
            if (i > 0) elements.push_back({i, i - 1});
            if (is_there || (i != 4 && i != 6)) elements.push_back({i, i});
          }
          const test_sparse a = sparse_of(s, {format, type, dtype::i32, 9, 9, 0, true}, elements);
          std::vector<number> values(a.places.size(), number(1));
          for (std::size_t e = 0; e < values.size(); ++e) {
            const auto& at = a.places[e];
            if (at.row == at.column && (at.row == 4 || at.row == 6)) values[e] = 0;
          }
          s.fill(*a.values, values);
          auto& b = s.vector(type, 9);
          auto& x = s.vector(type, 9);
          sparse::spsv r{.a = a.a, .b = b.view, .x = x.view, .op_a = op};
          expect_error(s, r, errc::numerical, "singular: the diagonal element of row 4 is zero");
          auto& several = s.matrix_of(type, 9, 3, layout::row);
          expect_error(s, sparse::spsm{.a = a.a, .b = several.view, .x = several.view, .op_a = op},
                       errc::numerical, "singular: the diagonal element of row 4 is zero");
          r.diag = blas::diag::unit;
          s.run(r);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(SparseTriangular, RefusesPatternsThatPointOutside) {
  for (const sparse_format format : compressed_formats) {
    for (const blas::storage_op op : {blas::storage_op::none, blas::storage_op::transpose}) {
      for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{3}, std::int64_t{1} << 40}) {
        scene s;
        auto a = sparse_of(s, {format, dtype::f32, dtype::i64, 3, 3, 0, true},
                           {{0, 0}, {1, 0}, {1, 1}, {2, 2}});
        auto& b = s.vector(dtype::f32, 3);
        auto& x = s.vector(dtype::f32, 3);
        const sparse::spsv r{.a = a.a, .b = b.view, .x = x.view, .op_a = op};
        std::vector<number> indices = a.indices->values;
        indices[1] = static_cast<double>(bad);
        s.fill(*a.indices, indices);
        expect_error(s, r, errc::invalid_argument, "is outside [0, 3)");
        s.fill(*a.indices, a.indices->values);
        auto c = sparse_of(s, {format, dtype::f32, dtype::i64, 3, 3, 0, true},
                           {{0, 0}, {1, 0}, {1, 1}, {2, 2}});
        std::vector<number> offsets = c.offsets->values;
        offsets[1] = static_cast<double>(bad == 3 ? 5 : bad);
        s.fill(*c.offsets, offsets);
        expect_error(s, sparse::spsv{.a = c.a, .b = b.view, .x = x.view, .op_a = op},
                     errc::invalid_argument, "offsets[");
        if (HasFailure()) return;
      }
    }
  }
}

TEST(SparseTriangular, RefusesArgumentsThatDoNotFit) {
  scene s;
  const auto shape = [](sparse_format format, std::int64_t m, std::int64_t n) {
    return sparse_shape{format, dtype::f64, dtype::i32, m, n};
  };
  const auto vector = [&](dtype type, std::int64_t n) { return s.vector(type, n).view; };
  const sparse_matrix a = sparse_of(s, shape(sparse_format::csr, 6, 6)).a;
  s.refuse(sparse::spsv{.a = sparse_of(s, shape(sparse_format::csr, 6, 5)).a,
                        .b = vector(dtype::f64, 6),
                        .x = vector(dtype::f64, 6)},
           errc::shape_mismatch, "a must be square; it is [6, 5]");
  s.refuse(sparse::spsv{.a = sparse_of(s, shape(sparse_format::coo, 6, 6)).a,
                        .b = vector(dtype::f64, 6),
                        .x = vector(dtype::f64, 6)},
           errc::invalid_argument, "a must be csr or csc");
  s.refuse(sparse::spsv{.a = a, .b = vector(dtype::f64, 5), .x = vector(dtype::f64, 5)},
           errc::shape_mismatch, "the rows of a");
  s.refuse(sparse::spsv{.a = a, .b = vector(dtype::f32, 6), .x = vector(dtype::f32, 6)},
           errc::type_mismatch);
  s.refuse(sparse::spsv{.a = a, .b = vector(dtype::f64, 6), .x = vector(dtype::f64, 7)},
           errc::shape_mismatch);
  const any_tensor both = s.vector(dtype::f64, 7).view;
  s.refuse(sparse::spsv{.a = a, .b = both.slice(0, 0, 6).value(), .x = both.slice(0, 1, 7).value()},
           errc::aliasing);
  s.refuse(sparse::spsm{.a = a,
                        .b = s.matrix_of(dtype::f64, 6, 3, layout::row).view,
                        .x = s.matrix_of(dtype::f64, 6, 4, layout::row).view},
           errc::shape_mismatch);
}

}  // namespace
}  // namespace troupe::conformance
