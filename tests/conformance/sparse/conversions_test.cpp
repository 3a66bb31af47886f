#include "sparse_matrices.hpp"

#include <troupe/sparse/conversions.hpp>

#include <algorithm>
#include <limits>
#include <tuple>

namespace troupe::conformance {
namespace {

constexpr sparse_format made_formats[] = {sparse_format::csr, sparse_format::csc,
                                          sparse_format::coo};
constexpr matrix_size conversion_sizes[] = {{0, 0}, {0, 4}, {4, 0}, {1, 1}, {7, 5}, {64, 33}};

struct element {
  std::int64_t row;
  std::int64_t column;
  number value;
};

/// The result of a request; only the first `count` elements count.
std::vector<element> elements_now(scene& s, const test_sparse& made, std::int64_t count) {
  std::vector<element> all;
  const auto indices = integers_now(s, *made.indices);
  const auto values = s.elements_now(*made.values);
  const bool by_columns = made.a.format == sparse_format::csc;
  const auto add = [&](std::int64_t major, std::int64_t k) {
    const std::int64_t minor = indices[static_cast<std::size_t>(k)];
    all.push_back({by_columns ? minor : major, by_columns ? major : minor,
                   values[static_cast<std::size_t>(k)]});
  };
  if (made.offsets == nullptr) {
    const auto rows = integers_now(s, *made.row_indices);
    for (std::int64_t k = 0; k < count; ++k)
      add(rows[static_cast<std::size_t>(k)], k);
    return all;
  }
  const auto offsets = integers_now(s, *made.offsets);
  EXPECT_EQ(offsets.front(), 0) << s.note();
  EXPECT_EQ(offsets.back(), count) << s.note();
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    for (std::int64_t k = offsets[i]; k < offsets[i + 1] && k < count; ++k)
      add(static_cast<std::int64_t>(i), k);
  }
  return all;
}

/// In the order that the format has.
std::vector<element> in_order(std::vector<element> all, sparse_format format) {
  std::ranges::stable_sort(all, {}, [&](const element& e) {
    return format == sparse_format::csc ? std::tuple(e.column, e.row) : std::tuple(e.row, e.column);
  });
  return all;
}

void expect_elements(scene& s, const test_sparse& made, const std::vector<element>& expected) {
  const auto found = elements_now(s, made, static_cast<std::int64_t>(expected.size()));
  ASSERT_EQ(found.size(), expected.size()) << s.note();
  for (std::size_t k = 0; k < found.size(); ++k) {
    ASSERT_EQ(found[k].row, expected[k].row) << k << s.note();
    ASSERT_EQ(found[k].column, expected[k].column) << k << s.note();
    ASSERT_EQ(found[k].value, expected[k].value) << k << s.note();
  }
}

void expect_from_dense(const sparse_shape& shape, layout how, std::int64_t spare) {
  scene s;
  s.name(case_name(shape, "from_dense") + " " + to_string(how));
  auto& a = s.matrix_of(shape.type, shape.rows, shape.columns, how);
  std::vector<number> values = a.values;
  for (number& v : values) {
    if (s.generator()() % 3 != 0) v = s.generator()() % 2 == 0 ? 0.0 : -0.0;
  }
  s.fill(a, values);
  std::vector<element> expected;
  const matrix dense = a.before();
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    for (std::int64_t j = 0; j < shape.columns; ++j) {
      if (dense(i, j) != number()) expected.push_back({i, j, dense(i, j)});
    }
  }
  const auto count = static_cast<std::int64_t>(expected.size());
  const test_sparse b = room_for(s, shape, count + spare);
  auto& nnz = s.vector(dtype::i64, 1);
  EXPECT_EQ(s.run(sparse::from_dense{.a = a.view, .b = b.a, .nnz = nnz.view}), count) << s.note();
  EXPECT_EQ(integers_now(s, nnz)[0], count) << s.note();
  expect_elements(s, b, in_order(expected, shape.format));
}

TEST(SparseFromDense, KeepsWhatIsNotZero) {
  for (const sparse_format format : made_formats) {
    for (const dtype type : sparse_types) {
      for (const dtype index : index_types) {
        for (const matrix_size& n : conversion_sizes) {
          for (const layout how : all_layouts)
            expect_from_dense({format, type, index, n.rows, n.columns}, how, n.rows % 3);
        }
      }
      expect_from_dense({format, type, dtype::i32, 500, 700}, layout::row, 0);
    }
  }
}

TEST(SparseFromDense, KeepsNaNs) {
  scene s;
  auto& a = s.matrix_of(dtype::f32, 2, 2, layout::row);
  s.fill(a, {0, std::numeric_limits<double>::quiet_NaN(), 0, 1});
  EXPECT_EQ(
      s.run(sparse::from_dense{
          .a = a.view, .b = room_for(s, {sparse_format::csr, dtype::f32, dtype::i32, 2, 2}, 2).a}),
      2);
}

template <class Answer>
void expect_too_small(scene& s, const Answer& answer, std::int64_t needed, std::int64_t capacity,
                      const test_tensor& nnz) {
  ASSERT_FALSE(answer) << s.note();
  EXPECT_EQ(answer.error().code, errc::capacity_exceeded) << s.note();
  EXPECT_EQ(answer.error().message, "needs " + std::to_string(needed) +
                                        " elements, but the result has room for " +
                                        std::to_string(capacity));
  EXPECT_EQ(integers_now(s, nnz)[0], needed) << s.note();
}

TEST(SparseConversions, SayHowManyElementsTheyNeedRoomFor) {
  for (const sparse_format format : made_formats) {
    for (const std::int64_t capacity : {0, 3, 39}) {
      scene s;
      const sparse_shape shape{format, dtype::f64, dtype::i64, 8, 5, 1.0};
      s.name(case_name(shape, "too small"));
      auto& a = s.matrix_of(dtype::f64, 8, 5, layout::row);
      s.fill(a, number(2));
      auto& nnz = s.vector(dtype::i64, 1);
      const test_sparse b = room_for(s, shape, capacity);
      expect_too_small(s, s.attempt(sparse::from_dense{.a = a.view, .b = b.a, .nnz = nnz.view}), 40,
                       capacity, nnz);
      const test_sparse from =
          sparse_of(s, {sparse_format::coo, dtype::f64, dtype::i32, 8, 5, 1.0});
      const auto needed = static_cast<std::int64_t>(from.places.size());
      if (needed <= capacity) continue;
      expect_too_small(s, s.attempt(sparse::convert{.a = from.a, .b = b.a, .nnz = nnz.view}),
                       needed, capacity, nnz);
    }
  }
}

TEST(SparseToDense, AddsUpDuplicates) {
  for (const sparse_format format : sparse_formats) {
    for (const dtype type : sparse_types) {
      for (const dtype index : index_types) {
        for (const matrix_size& n : conversion_sizes) {
          scene s;
          const sparse_shape shape{format, type, index, n.rows, n.columns, 0.4, false};
          s.name(case_name(shape, "to_dense"));
          const test_sparse a = sparse_of(s, shape);
          auto& b = s.matrix_of(type, a.a.rows, a.a.columns, layout::row);
          s.run(sparse::to_dense{.a = a.a, .b = b.view});
          s.expect(b, a.dense(), a.dense_magnitude(), 2, type);
        }
      }
    }
  }
}

TEST(SparseToDense, WritesEveryFormat) {
  for (const sparse_format format : sparse_formats) {
    for (const dtype type : sparse_types) {
      for (const dtype index : index_types) {
        for (const matrix_size& n : conversion_sizes) {
          for (const layout how : all_layouts) {
            scene s;
            const sparse_shape shape{format, type, index, n.rows, n.columns};
            s.name(case_name(shape, "to_dense") + " " + to_string(how));
            const test_sparse a = sparse_of(s, shape);
            auto& b = s.matrix_of(type, a.a.rows, a.a.columns, how);
            s.run(sparse::to_dense{.a = a.a, .b = b.view});
            s.expect_exactly(b, a.dense());
          }
        }
      }
    }
  }
}

void expect_converted(const sparse_shape& from, sparse_format to, dtype index) {
  scene s;
  s.name(case_name(from, "convert") + " to " + std::to_string(static_cast<int>(to)));
  const test_sparse a = sparse_of(s, from);
  std::vector<element> expected;
  for (std::size_t e = 0; e < a.places.size(); ++e) {
    if (a.places[e].row >= 0)
      expected.push_back({a.places[e].row, a.places[e].column, a.values->values[e]});
  }
  const auto count = static_cast<std::int64_t>(expected.size());
  const test_sparse b =
      room_for(s, {to, from.type, index, a.a.rows, a.a.columns}, count + from.rows % 3);
  auto& nnz = s.vector(dtype::i64, 1);
  EXPECT_EQ(s.run(sparse::convert{.a = a.a, .b = b.a, .nnz = nnz.view}), count) << s.note();
  EXPECT_EQ(integers_now(s, nnz)[0], count) << s.note();
  expect_elements(s, b, in_order(expected, to));
}

TEST(SparseConvert, ConvertsEveryFormat) {
  for (const sparse_format format : sparse_formats) {
    for (const sparse_format to : made_formats) {
      for (const dtype type : sparse_types) {
        for (const matrix_size& n : conversion_sizes) {
          for (const bool ordered : {true, false}) {
            const dtype index = index_types[static_cast<std::size_t>(n.rows) % 2];
            const dtype other = index_types[static_cast<std::size_t>(n.columns) % 2];
            expect_converted({format, type, index, n.rows, n.columns, 0.3, ordered}, to, other);
          }
        }
      }
      expect_converted({format, dtype::f32, dtype::i32, 900, 1100, 0.05, false}, to, dtype::i64);
    }
  }
}

TEST(SparseConvert, ConvertsHugeMatricesOfFewElements) {
  for (const sparse_format to : {sparse_format::coo, sparse_format::csr}) {
    scene s;
    const std::int64_t rows = to == sparse_format::coo ? std::int64_t{1} << 31 : 5;
    const std::int64_t columns = std::int64_t{1} << 31;
    const std::vector<std::int64_t> at_rows{4, 0, 4, 2};
    const std::vector<std::int64_t> at_columns{columns - 1, 7, 0, columns - 2};
    auto& values = s.vector(dtype::f64, 4);
    const auto a = sparse_matrix::coo(rows, columns, integers(s, dtype::i64, at_rows).view,
                                      integers(s, dtype::i64, at_columns).view, values.view);
    const test_sparse b = room_for(s, {to, dtype::f64, dtype::i64, rows, columns}, 4);
    EXPECT_EQ(s.run(sparse::convert{.a = a, .b = b.a}), 4);
    std::vector<element> expected;
    for (std::size_t k = 0; k < 4; ++k)
      expected.push_back({at_rows[k], at_columns[k], values.values[k]});
    expect_elements(s, b, in_order(expected, to));
  }
}

TEST(SparseConversions, FailWhereAnElementHasNoPlace) {
  for (const sparse_format format : sparse_formats) {
    for (const std::int64_t wrong : {std::int64_t{-2}, std::int64_t{1} << 30}) {
      for (const int which : {0, 1, 2}) {
        scene s;
        const sparse_shape shape{format, dtype::f32, dtype::i32, 12, 10, 0.9};
        s.name(case_name(shape, "misplaced"));
        const test_sparse a = sparse_of(s, shape);
        test_tensor* const lists[] = {a.indices, a.offsets, a.row_indices};
        if (lists[which] == nullptr) continue;
        std::vector<number> values = lists[which]->values;
        values[values.size() / 2] = static_cast<double>(wrong);
        s.fill(*lists[which], values);
        const auto check = [&](const auto& answer) {
          ASSERT_FALSE(answer) << s.note();
          EXPECT_EQ(answer.error().code, errc::invalid_argument) << s.note();
          EXPECT_NE(answer.error().message.find(which == 1 ? "offsets[" : "is outside [0, "),
                    std::string::npos)
              << answer.error().message << s.note();
        };
        auto& b = s.matrix_of(dtype::f32, a.a.rows, a.a.columns, layout::row);
        check(s.attempt(sparse::to_dense{.a = a.a, .b = b.view}));
        const test_sparse c = room_for(
            s, {sparse_format::csr, dtype::f32, dtype::i32, a.a.rows, a.a.columns}, a.a.stored());
        check(s.attempt(sparse::convert{.a = a.a, .b = c.a}));
      }
    }
  }
}

TEST(SparseConversions, RefuseWhatDoesNotGoTogether) {
  scene s;
  const test_sparse a = sparse_of(s, {sparse_format::csr, dtype::f32, dtype::i32, 4, 6});
  const test_sparse b = room_for(s, {sparse_format::csc, dtype::f32, dtype::i32, 4, 5}, 9);
  s.refuse(sparse::convert{.a = a.a, .b = b.a}, errc::shape_mismatch,
           "b is [4, 5], but a is [4, 6]");
  const test_sparse blocks = sparse_of(s, {sparse_format::bsr, dtype::f32, dtype::i32, 2, 2});
  const test_sparse others = sparse_of(s, {sparse_format::bsr, dtype::f32, dtype::i32, 2, 2});
  s.refuse(sparse::convert{.a = blocks.a, .b = others.a}, errc::invalid_argument,
           "b must be csr, csc or coo");
  s.refuse(sparse::to_dense{.a = a.a, .b = s.matrix_of(dtype::f32, 4, 5, layout::row).view},
           errc::shape_mismatch, "extent 1 of b must be 6: the columns of a");
}

}  // namespace
}  // namespace troupe::conformance
