#include "sparse_matrices.hpp"

#include <troupe/sparse/products.hpp>

#include <cmath>
#include <limits>

namespace troupe::conformance {
namespace {

constexpr matrix_size product_sizes[] = {{0, 0}, {1, 1}, {4, 0}, {0, 4}, {7, 5}, {33, 40}};
constexpr matrix_size large{701, 517};

bool transposes(blas::storage_op op) {
  return op == blas::storage_op::transpose || op == blas::storage_op::conjugate_transpose;
}
double size_of_it(const scalar& s) {
  return std::abs(as_number(s).real()) + std::abs(as_number(s).imag());
}
/// |alpha| · |op(a)| · |b| + |beta| · |c|.
matrix bound_of(const test_sparse& a, blas::storage_op op, const matrix& b, const matrix& c,
                const scalar& alpha, const scalar& beta) {
  matrix product = applied(op, a.dense_magnitude()) * magnitude(b);
  product = size_of_it(alpha) * product;
  return beta.is_zero() ? product : product + size_of_it(beta) * magnitude(c);
}
matrix expected_of(const test_sparse& a, blas::storage_op op, const matrix& b, const matrix& c,
                   const scalar& alpha, const scalar& beta) {
  const matrix product = as_number(alpha) * (applied(op, a.dense()) * b);
  return beta.is_zero() ? product : product + as_number(beta) * c;
}

/// Calls `f(shape)` for every format, type and index, and matrices with and without order.
template <class F>
void for_each_shape(F f) {
  for (const sparse_format format : sparse_formats) {
    for (const dtype type : sparse_types) {
      for (const dtype index : index_types) {
        for (const bool ordered : {true, false}) {
          for (const matrix_size& n : product_sizes)
            f(sparse_shape{format, type, index, n.rows, n.columns, 0.3, ordered});
        }
      }
    }
  }
}

void expect_spmv(const sparse_shape& shape, blas::storage_op op, const scalar& alpha,
                 const scalar& beta, std::int64_t stride) {
  scene s;
  s.name(case_name(shape, "spmv"));
  const test_sparse a = sparse_of(s, shape);
  const bool turned = transposes(op);
  auto& x = s.vector(shape.type, turned ? a.a.rows : a.a.columns, stride);
  auto& y = s.vector(shape.type, turned ? a.a.columns : a.a.rows, stride);
  if (beta.is_zero()) s.fill(y, std::numeric_limits<double>::quiet_NaN());
  s.run(sparse::spmv{.a = a.a, .x = x.view, .y = y.view, .alpha = alpha, .beta = beta, .op_a = op});
  s.expect(y, expected_of(a, op, x.before(), y.before(), alpha, beta),
           bound_of(a, op, x.before(), y.before(), alpha, beta), a.most_terms(),
           computed_in(shape.type));
}

TEST(SparseSpmv, MultipliesEveryFormatAndType) {
  for_each_shape([](const sparse_shape& shape) {
    for (const blas::storage_op op : storage_ops) {
      expect_spmv(shape, op, 1, 0, 1);
      expect_spmv(shape, op, factor(shape.type, 0.5, -0.25), factor(shape.type, -2, 1),
                  shape.rows % 2 == 0 ? 2 : 1);
    }
  });
}

TEST(SparseSpmv, MultipliesLongRows) {
  for (const sparse_format format : sparse_formats) {
    for (const dtype type : sparse_types) {
      for (const blas::storage_op op : storage_ops)
        expect_spmv({format, type, dtype::i32, large.rows, large.columns, 0.1}, op,
                    factor(type, 0.5, -0.25), factor(type, 2, 0.5), 1);
    }
  }
}

/// Rows that are longer than what a block of a GPU takes, and more empty ones than that.
constexpr matrix_size lopsided[] = {{5, 9000}, {1, 6000}, {6000, 3}};

/// Calls `f(shape, op)` for rows that are stored one after another: for csr, and for transposed
/// csc.
template <class F>
void for_each_lopsided(F f) {
  for (const dtype type : sparse_types) {
    for (const matrix_size& n : lopsided) {
      const double density = n.rows > n.columns ? 0.05 : 0.9;
      f(sparse_shape{sparse_format::csr, type, dtype::i32, n.rows, n.columns, density},
        blas::storage_op::none);
      f(sparse_shape{sparse_format::csr, type, dtype::i64, n.rows, n.columns, density, false},
        blas::storage_op::conjugate);
      f(sparse_shape{sparse_format::csc, type, dtype::i32, n.columns, n.rows, density},
        blas::storage_op::transpose);
      f(sparse_shape{sparse_format::csc, type, dtype::i64, n.columns, n.rows, density},
        blas::storage_op::conjugate_transpose);
    }
  }
}

TEST(SparseSpmv, MultipliesRowsOfAnyLength) {
  for_each_lopsided([](const sparse_shape& shape, blas::storage_op op) {
    expect_spmv(shape, op, factor(shape.type, 0.5, -0.25), 0, 1);
    expect_spmv(shape, op, 1, factor(shape.type, -2, 1), 2);
  });
}

TEST(SparseSpmv, MultipliesMoreElementsThanPlaces) {
  for (const sparse_format format : {sparse_format::csr, sparse_format::csc, sparse_format::coo}) {
    for (const dtype type : sparse_types) {
      scene s;
      const sparse_shape shape{format, type, dtype::i32, 2, 1};
      s.name(case_name(shape, "spmv, more elements than places"));
      const test_sparse a = sparse_of(s, shape, {{0, 0}, {0, 0}, {1, 0}});
      auto& x = s.vector(type, 1);
      auto& y = s.vector(type, 2);
      s.fill(y, std::numeric_limits<double>::quiet_NaN());
      s.run(sparse::spmv{.a = a.a, .x = x.view, .y = y.view});
      constexpr auto op = blas::storage_op::none;
      s.expect(y, expected_of(a, op, x.before(), y.before(), 1, 0),
               bound_of(a, op, x.before(), y.before(), 1, 0), a.most_terms(), computed_in(type));
    }
  }
}

TEST(SparseSpmv, LooksAtNothingWhereAlphaIsZero) {
  for (const sparse_format format : sparse_formats) {
    for (const dtype type : sparse_types) {
      scene s;
      const sparse_shape shape{format, type, dtype::i32, 9, 8};
      s.name(case_name(shape, "spmv, alpha = 0"));
      const test_sparse a = sparse_of(s, shape);
      auto& x = s.vector(type, a.a.columns);
      s.fill(x, std::numeric_limits<double>::quiet_NaN());
      auto& y = s.vector(type, a.a.rows, 2);
      const scalar beta = factor(type, 2, 1);
      s.run(sparse::spmv{.a = a.a, .x = x.view, .y = y.view, .alpha = 0, .beta = beta});
      s.expect(y, as_number(beta) * y.before(), magnitude(as_number(beta) * y.before()), 1,
               computed_in(type));
      auto& z = s.vector(type, a.a.rows);
      s.fill(z, std::numeric_limits<double>::quiet_NaN());
      s.run(sparse::spmv{.a = a.a, .x = x.view, .y = z.view, .alpha = 0});
      s.expect_exactly(z, matrix(a.a.rows, 1));
    }
  }
}

void expect_spmm(const sparse_shape& shape, blas::storage_op op, const scalar& alpha,
                 const scalar& beta, std::int64_t n, layout of_b, layout of_c) {
  scene s;
  s.name(case_name(shape, "spmm") + " n = " + std::to_string(n) + " " + to_string(of_b) + " " +
         to_string(of_c));
  const test_sparse a = sparse_of(s, shape);
  const bool turned = transposes(op);
  auto& b = s.matrix_of(shape.type, turned ? a.a.rows : a.a.columns, n, of_b);
  auto& c = s.matrix_of(shape.type, turned ? a.a.columns : a.a.rows, n, of_c);
  if (beta.is_zero()) s.fill(c, std::numeric_limits<double>::quiet_NaN());
  s.run(sparse::spmm{.a = a.a, .b = b.view, .c = c.view, .alpha = alpha, .beta = beta, .op_a = op});
  s.expect(c, expected_of(a, op, b.before(), c.before(), alpha, beta),
           bound_of(a, op, b.before(), c.before(), alpha, beta), a.most_terms(),
           computed_in(shape.type));
}

TEST(SparseSpmm, MultipliesEveryFormatAndType) {
  for_each_shape([](const sparse_shape& shape) {
    int round = 0;
    for (const blas::storage_op op : storage_ops) {
      const layout of_b = all_layouts[static_cast<std::size_t>(round + shape.rows) % 4];
      const layout of_c = all_layouts[static_cast<std::size_t>(round / 2 + shape.columns) % 4];
      expect_spmm(shape, op, factor(shape.type, 0.5, -0.25),
                  round % 2 == 0 ? scalar(0) : factor(shape.type, -2, 1), 3, of_b, of_c);
      ++round;
    }
  });
}

TEST(SparseSpmm, TakesEveryLayout) {
  for (const sparse_format format : sparse_formats) {
    for (const dtype type : {dtype::f32, dtype::bf16, dtype::c128}) {
      for (const layout of_b : all_layouts) {
        for (const layout of_c : all_layouts) {
          for (const std::int64_t n : {0, 1, 37})
            expect_spmm({format, type, dtype::i32, 30, 20}, blas::storage_op::none, 1, 0, n, of_b,
                        of_c);
        }
      }
      expect_spmm({format, type, dtype::i64, large.rows, large.columns, 0.05},
                  blas::storage_op::none, 1, 1, 19, layout::row, layout::column);
    }
  }
}

TEST(SparseSpmm, MultipliesRowsOfAnyLength) {
  for_each_lopsided([](const sparse_shape& shape, blas::storage_op op) {
    for (const std::int64_t n : {2, 33}) {
      expect_spmm(shape, op, factor(shape.type, 0.5, -0.25), 0, n, layout::row, layout::row);
      expect_spmm(shape, op, 1, factor(shape.type, -2, 1), n, layout::row, layout::column);
    }
  });
}

TEST(SparseSpmm, MultipliesManyColumns) {
  for (const dtype type : sparse_types) {
    for (const std::int64_t n : {16, 32, 64, 70, 128, 131})
      expect_spmm({sparse_format::csr, type, dtype::i32, 60, 300, 0.3, false},
                  blas::storage_op::none, 1, factor(type, 0.5, 1), n, layout::row, layout::row);
  }
}

void expect_sddmm(const sparse_shape& shape, std::int64_t k, const scalar& alpha,
                  const scalar& beta, layout of_a, layout of_b) {
  scene s;
  s.name(case_name(shape, "sddmm") + " k = " + std::to_string(k));
  const test_sparse c = sparse_of(s, shape);
  auto& a = s.matrix_of(shape.type, c.a.rows, k, of_a);
  auto& b = s.matrix_of(shape.type, k, c.a.columns, of_b);
  if (beta.is_zero()) s.fill(*c.values, std::numeric_limits<double>::quiet_NaN());
  s.run(sparse::sddmm{.a = a.view, .b = b.view, .c = c.a, .alpha = alpha, .beta = beta});
  const matrix product = as_number(alpha) * (a.before() * b.before());
  const matrix bound = size_of_it(alpha) * (magnitude(a.before()) * magnitude(b.before()));
  // Padding keeps its NaNs; places of the others are looked at one by one.
  const std::vector<number> now = s.elements_now(*c.values);
  for (std::size_t e = 0; e < c.places.size(); ++e) {
    const auto at = c.places[e];
    if (at.row < 0) {
      EXPECT_TRUE(std::isnan(now[e].real())) << e << s.note();
      continue;
    }
    const number kept = beta.is_zero() ? number() : as_number(beta) * c.values->values[e];
    s.expect_near(shape.type, now[e], product(at.row, at.column) + kept,
                  bound(at.row, at.column).real() + std::abs(kept.real()) + std::abs(kept.imag()),
                  k, computed_in(shape.type), "element " + std::to_string(e));
  }
}

TEST(SparseSddmm, ComputesTheElementsOfEveryFormatAndType) {
  for_each_shape([](const sparse_shape& shape) {
    const layout one = all_layouts[static_cast<std::size_t>(shape.rows) % 4];
    const layout other = all_layouts[static_cast<std::size_t>(shape.columns + 1) % 4];
    expect_sddmm(shape, 5, 1, 0, one, other);
    expect_sddmm(shape, 40, factor(shape.type, 0.5, -0.25), factor(shape.type, -2, 1), other, one);
    expect_sddmm(shape, 0, 1, factor(shape.type, 0.5, 0), one, one);
  });
}

TEST(SparseSddmm, ComputesLongInnerProducts) {
  for (const sparse_format format : sparse_formats) {
    for (const dtype type : {dtype::f32, dtype::f16, dtype::c64})
      expect_sddmm({format, type, dtype::i32, 90, 70, 0.2}, 300, 1, 0, layout::row, layout::column);
  }
}

/// A pattern with one thing wrong, where the CPU and kernels of ours check it. cuSPARSE does not.
void expect_misplaced(scene& s, const result<void>& answer, bool in_offsets) {
  ASSERT_FALSE(answer) << s.note();
  EXPECT_EQ(answer.error().code, errc::invalid_argument) << s.note();
  EXPECT_NE(answer.error().message.find(in_offsets ? "offsets[" : "is outside [0, "),
            std::string::npos)
      << answer.error().message << s.note();
}

TEST(SparseProducts, FailWhereAnElementHasNoPlace) {
  for (const sparse_format format : sparse_formats) {
    for (const dtype index : index_types) {
      for (const std::int64_t wrong : {std::int64_t{-2}, std::int64_t{1} << 30}) {
        for (const int which : {0, 1, 2}) {
          scene s;
          const sparse_shape shape{format, dtype::f32, index, 12, 10, 0.9};
          s.name(case_name(shape, "misplaced"));
          const test_sparse a = sparse_of(s, shape);
          test_tensor* const lists[] = {a.indices, a.offsets, a.row_indices};
          if (lists[which] == nullptr) continue;
          std::vector<number> values = lists[which]->values;
          values[values.size() / 2] = static_cast<double>(wrong);
          s.fill(*lists[which], values);
          auto& dense = s.matrix_of(dtype::f32, a.a.rows, a.a.columns, layout::row);
          auto& vector = s.vector(dtype::f32, a.a.rows);
          auto& other = s.vector(dtype::f32, a.a.columns);
          expect_misplaced(
              s,
              s.attempt(sparse::sddmm{
                  .a = dense.view,
                  .b = s.matrix_of(dtype::f32, a.a.columns, a.a.columns, layout::row).view,
                  .c = a.a}),
              which == 1);
          for (const blas::storage_op op : storage_ops) {
            const bool turned = transposes(op);
            if (s.on_gpu() && format != (turned ? sparse_format::csc : sparse_format::csr))
              continue;
            expect_misplaced(s,
                             s.attempt(sparse::spmv{.a = a.a,
                                                    .x = (turned ? vector : other).view,
                                                    .y = (turned ? other : vector).view,
                                                    .op_a = op}),
                             which == 1);
            const auto factor_of = [&](std::int64_t rows) {
              return s.matrix_of(dtype::f32, rows, 7, layout::row).view;
            };
            expect_misplaced(s,
                             s.attempt(sparse::spmm{.a = a.a,
                                                    .b = factor_of(turned ? a.a.rows : a.a.columns),
                                                    .c = factor_of(turned ? a.a.columns : a.a.rows),
                                                    .op_a = op}),
                             which == 1);
          }
        }
      }
    }
  }
}

TEST(SparseProducts, RefuseWhatDoesNotGoTogether) {
  scene s;
  const test_sparse a = sparse_of(s, {sparse_format::csr, dtype::f32, dtype::i32, 6, 5});
  auto& x = s.vector(dtype::f32, 5);
  auto& y = s.vector(dtype::f32, 6);
  const sparse::spmv good{.a = a.a, .x = x.view, .y = y.view};
  sparse::spmv r = good;
  r.x = s.vector(dtype::f32, 6).view;
  s.refuse(r, errc::shape_mismatch, "extent 0 of x must be 5: the columns of op_a(a)");
  r = good;
  r.op_a = blas::storage_op::transpose;
  s.refuse(r, errc::shape_mismatch, "extent 0 of x must be 6: the columns of op_a(a)");
  r = good;
  r.x = s.vector(dtype::f64, 5).view;
  s.refuse(r, errc::type_mismatch);
  r = good;
  r.alpha = number(1, 2);
  s.refuse(r, errc::invalid_argument, "alpha");
  r = good;
  r.a.rows = 7;
  s.refuse(r, errc::shape_mismatch,
           "the length of offsets is 7, but must be 8: one more than rows");
  r = good;
  r.a.columns = std::int64_t{1} << 40;
  s.refuse(r, errc::size_overflow, "columns are more than indices of type i32 can count");
  r = good;
  r.a.row_indices = a.a.indices;
  s.refuse(r, errc::invalid_argument, "row_indices");
  r = good;
  r.a.offsets = any_tensor();
  s.refuse(r, errc::invalid_argument, "offsets");
  r = good;
  r.a.indices = s.vector(dtype::i64, a.a.indices.extent(0)).view;
  s.refuse(r, errc::type_mismatch);
  r = good;
  r.a.values = s.vector(dtype::f32, a.a.values.extent(0) + 1).view;
  s.refuse(r, errc::shape_mismatch, "values");
  r = good;
  r.y = x.view;
  s.refuse(r, errc::aliasing);
}

}  // namespace
}  // namespace troupe::conformance
