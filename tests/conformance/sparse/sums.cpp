#include "sparse_matrices.hpp"

#include <troupe/sparse/conversions.hpp>

#include <algorithm>
#include <complex>
#include <limits>
#include <map>
#include <utility>
#include <vector>

// Parts and sums of sparse matrices.
namespace troupe::conformance {
namespace {

constexpr sparse_format results[] = {sparse_format::csr, sparse_format::csc, sparse_format::coo};

using place = std::pair<std::int64_t, std::int64_t>;
/// The value of each place, and the sum of its terms' magnitudes.
using place_values = std::map<place, std::pair<number, double>>;

void add_to(place_values& all, const test_sparse& a, number factor, bool by_columns) {
  for (std::size_t e = 0; e < a.places.size(); ++e) {
    if (a.places[e].row < 0) continue;
    const place at = by_columns ? place(a.places[e].column, a.places[e].row)
                                : place(a.places[e].row, a.places[e].column);
    auto& [sum, magnitude] = all[at];
    if (factor == number()) continue;
    sum += factor * a.values->values[e];
    magnitude += 2 * std::abs(factor) * std::abs(a.values->values[e]);
  }
}

/// Expects the places of `all`, in order, each with its value.
void expect_places(scene& s, const test_sparse& made, const place_values& all) {
  const auto indices = integers_now(s, *made.indices);
  const auto values = s.elements_now(*made.values);
  std::vector<std::int64_t> majors;
  if (made.offsets == nullptr) {
    majors = integers_now(s, *made.row_indices);
  } else {
    const auto offsets = integers_now(s, *made.offsets);
    ASSERT_EQ(offsets.front(), 0) << s.note();
    ASSERT_EQ(offsets.back(), std::ssize(all)) << s.note();
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
      majors.insert(majors.end(), static_cast<std::size_t>(offsets[i + 1] - offsets[i]),
                    static_cast<std::int64_t>(i));
  }
  const dtype type = made.a.values.type();
  std::size_t k = 0;
  for (const auto& [at, value] : all) {
    ASSERT_EQ(place(majors[k], indices[k]), at) << k << s.note();
    s.expect_near(type, values[k], value.first, value.second, 4, computed_in(type),
                  "element " + std::to_string(k));
    ++k;
  }
}

void expect_sum(const sparse_shape& a_shape, sparse_format b_format, sparse_format to,
                dtype to_index, bool without_b) {
  scene s;
  s.name(case_name(a_shape, "add") + " to " + std::to_string(static_cast<int>(to)));
  const test_sparse a = sparse_of(s, a_shape);
  sparse_shape b_shape = a_shape;
  b_shape.format = b_format;
  b_shape.index = a_shape.index == dtype::i32 ? dtype::i64 : dtype::i32;
  // Blocks of another format have other extents.
  if (a_shape.format > sparse_format::coo || b_format > sparse_format::coo) {
    b_shape.format = sparse_format::coo;
    b_shape.rows = a.a.rows;
    b_shape.columns = a.a.columns;
  }
  const test_sparse b = sparse_of(s, b_shape);
  const scalar alpha = factor(a_shape.type, 0.75, -0.5);
  const scalar beta = without_b ? scalar(0) : factor(a_shape.type, -1.25, 0.5);
  if (without_b) s.fill(*b.values, number(std::numeric_limits<double>::quiet_NaN()));
  place_values all;
  const bool by_columns = to == sparse_format::csc;
  add_to(all, a, as_number(alpha), by_columns);
  add_to(all, b, as_number(beta), by_columns);
  const auto count = std::ssize(all);
  const test_sparse c =
      room_for(s, {to, a_shape.type, to_index, a.a.rows, a.a.columns}, count + a_shape.rows % 3);
  auto& nnz = s.vector(dtype::i64, 1);
  EXPECT_EQ(s.run(sparse::add{
                .a = a.a, .b = b.a, .c = c.a, .alpha = alpha, .beta = beta, .nnz = nnz.view}),
            count)
      << s.note();
  EXPECT_EQ(integers_now(s, nnz)[0], count) << s.note();
  expect_places(s, c, all);
}

TEST(SparseAdd, AddsEveryFormatAndType) {
  for (const sparse_format format : sparse_formats) {
    for (const sparse_format to : results) {
      for (const dtype type : sparse_types) {
        for (const dtype index : index_types) {
          for (const bool ordered : {true, false})
            expect_sum({format, type, index, 17, 11, 0.3, ordered}, sparse_format::csr, to, index,
                       !ordered && type == dtype::f64);
          if (HasFailure()) return;
        }
      }
      expect_sum({format, dtype::f32, dtype::i64, 0, 4}, sparse_format::csc, to, dtype::i32, false);
      expect_sum({format, dtype::f32, dtype::i64, 4, 0}, sparse_format::csc, to, dtype::i32, false);
      expect_sum({format, dtype::c64, dtype::i32, 300, 400, 0.05, false}, sparse_format::csc, to,
                 dtype::i64, false);
    }
  }
}

void expect_part(const sparse_shape& from, sparse_format to, std::int64_t rows,
                 std::int64_t columns) {
  scene s;
  s.name(case_name(from, "slice") + " to " + std::to_string(static_cast<int>(to)));
  const test_sparse a = sparse_of(s, from);
  rows = std::min(rows, a.a.rows);
  columns = std::min(columns, a.a.columns);
  const std::int64_t first_row = (a.a.rows - rows) / 2;
  const std::int64_t first_column = a.a.columns - columns;
  place_values all;
  for (std::size_t e = 0; e < a.places.size(); ++e) {
    const std::int64_t i = a.places[e].row - first_row;
    const std::int64_t j = a.places[e].column - first_column;
    if (a.places[e].row < 0 || i < 0 || i >= rows || j < 0 || j >= columns) continue;
    all[to == sparse_format::csc ? place(j, i) : place(i, j)] = {a.values->values[e], 0.0};
  }
  const auto count = std::ssize(all);
  const dtype index = from.index == dtype::i32 ? dtype::i64 : dtype::i32;
  const test_sparse b = room_for(s, {to, from.type, index, rows, columns}, count + 2);
  auto& nnz = s.vector(dtype::i64, 1);
  EXPECT_EQ(s.run(sparse::slice{.a = a.a,
                                .b = b.a,
                                .first_row = first_row,
                                .first_column = first_column,
                                .nnz = nnz.view}),
            count)
      << s.note();
  EXPECT_EQ(integers_now(s, nnz)[0], count) << s.note();
  expect_places(s, b, all);
}

TEST(SparseSlice, TakesPartsOfEveryFormat) {
  for (const sparse_format format : sparse_formats) {
    for (const sparse_format to : results) {
      for (const dtype type : sparse_types) {
        for (const dtype index : index_types) {
          expect_part({format, type, index, 17, 11, 0.4}, to, 6, 5);
          if (HasFailure()) return;
        }
      }
      expect_part({format, dtype::f32, dtype::i32, 9, 8}, to, 0, 8);
      expect_part({format, dtype::f32, dtype::i32, 9, 8}, to, 9, 0);
      expect_part({format, dtype::f64, dtype::i32, 300, 400, 0.05}, to, 70, 399);
    }
  }
}

TEST(SparseAdd, FailsWithoutRoomAndForPatternsThatPointOutside) {
  for (const sparse_format to : results) {
    scene s;
    const sparse_shape shape{to, dtype::f64, dtype::i32, 3, 3};
    const test_sparse a = sparse_of(s, shape, {{0, 0}, {1, 1}});
    const test_sparse b = sparse_of(s, shape, {{1, 1}, {2, 2}});
    auto& nnz = s.vector(dtype::i64, 1);
    const auto full =
        s.attempt(sparse::add{.a = a.a, .b = b.a, .c = room_for(s, shape, 2).a, .nnz = nnz.view});
    ASSERT_FALSE(full) << s.note();
    EXPECT_EQ(full.error().code, errc::capacity_exceeded) << s.note();
    EXPECT_EQ(full.error().message, "needs 3 elements, but the result has room for 2") << s.note();
    EXPECT_EQ(integers_now(s, nnz)[0], 3) << s.note();
    for (const test_sparse* const one : {&b, &a}) {
      s.fill(*one->indices, std::vector<number>{0, 7});
      const auto wrong = s.attempt(sparse::add{.a = a.a, .b = b.a, .c = room_for(s, shape, 4).a});
      ASSERT_FALSE(wrong) << s.note();
      EXPECT_EQ(wrong.error().code, errc::invalid_argument) << s.note();
      EXPECT_NE(wrong.error().message.find("7 is outside [0, 3)"), std::string::npos)
          << wrong.error().message;
    }
    const auto part = s.attempt(sparse::slice{.a = a.a, .b = room_for(s, shape, 4).a});
    ASSERT_FALSE(part) << s.note();
    EXPECT_EQ(part.error().code, errc::invalid_argument) << s.note();
  }
}

TEST(SparseAdd, RefusesWhatDoesNotGoTogether) {
  scene s;
  const auto of = [&](std::int64_t m, std::int64_t n, dtype type = dtype::f32) {
    return sparse_of(s, {sparse_format::csr, type, dtype::i32, m, n}).a;
  };
  const auto room = [&](std::int64_t m, std::int64_t n) {
    return room_for(s, {sparse_format::csr, dtype::f32, dtype::i32, m, n}, 9).a;
  };
  s.refuse(sparse::add{.a = of(4, 6), .b = of(4, 5), .c = room(4, 6)}, errc::shape_mismatch,
           "b is [4, 5], but a is [4, 6]");
  s.refuse(sparse::add{.a = of(4, 6), .b = of(4, 6), .c = room(5, 6)}, errc::shape_mismatch,
           "c is [5, 6], but a is [4, 6]");
  s.refuse(sparse::add{.a = of(4, 6), .b = of(4, 6, dtype::f64), .c = room(4, 6)},
           errc::type_mismatch, "b.values");
  s.refuse(sparse::add{.a = of(4, 6), .b = of(4, 6), .c = room(4, 6), .beta = number(0, 1)},
           errc::invalid_argument, "beta");
  s.refuse(sparse::slice{.a = of(4, 6), .b = room(3, 6), .first_row = 2}, errc::shape_mismatch,
           "b is [3, 6] from row 2 and column 0 on, but a is [4, 6]");
  s.refuse(sparse::slice{.a = of(4, 6), .b = room(3, 6), .first_column = -1}, errc::shape_mismatch,
           "column -1");
}

}  // namespace
}  // namespace troupe::conformance
