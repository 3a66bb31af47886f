#include "sparse_matrices.hpp"

#include <troupe/sparse/sparse_products.hpp>

#include <set>
#include <utility>

namespace troupe::conformance {
namespace {

struct product_case {
  sparse_format format = sparse_format::csr;
  dtype type = dtype::f64;
  dtype index = dtype::i32;
  dtype other_index = dtype::i32;
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;
  double density = 0.2;
  bool ordered = true;
  std::int64_t spare = 0;
};

/// The positions of the product's elements, major by major.
std::vector<std::pair<std::int64_t, std::int64_t>> places_of(const test_sparse& a,
                                                             const test_sparse& b) {
  const bool by_columns = a.a.format == sparse_format::csc;
  std::set<std::pair<std::int64_t, std::int64_t>> all;
  for (const auto& left : a.places) {
    for (const auto& right : b.places) {
      if (left.column != right.row) continue;
      all.insert(by_columns ? std::pair(right.column, left.row)
                            : std::pair(left.row, right.column));
    }
  }
  return {all.begin(), all.end()};
}

void expect_product(const product_case& c) {
  scene s;
  const sparse_shape left{c.format, c.type, c.index, c.m, c.k, c.density, c.ordered};
  s.name(case_name(left, "times") + " [" + std::to_string(c.k) + ", " + std::to_string(c.n) + "]");
  const test_sparse a = sparse_of(s, left);
  const test_sparse b =
      sparse_of(s, {c.format, c.type, c.other_index, c.k, c.n, c.density, c.ordered});
  const auto places = places_of(a, b);
  const auto count = static_cast<std::int64_t>(places.size());
  auto& nnz = s.vector(dtype::i64, 1);
  EXPECT_EQ(s.run(sparse::spgemm_size{.a = a.a, .b = b.a, .nnz = nnz.view}), count) << s.note();
  EXPECT_EQ(integers_now(s, nnz)[0], count) << s.note();
  const test_sparse made = room_for(s, {c.format, c.type, c.index, c.m, c.n}, count + c.spare);
  const scalar alpha = factor(c.type, 0.75, -0.5);
  EXPECT_EQ(s.run(sparse::spgemm{.a = a.a, .b = b.a, .c = made.a, .alpha = alpha, .nnz = nnz.view}),
            count)
      << s.note();
  if (testing::Test::HasFailure()) return;
  EXPECT_EQ(integers_now(s, nnz)[0], count) << s.note();
  const matrix expected = as_number(alpha) * (a.dense() * b.dense());
  const matrix sums = a.dense_magnitude() * b.dense_magnitude();
  const double scale = std::abs(as_number(alpha).real()) + std::abs(as_number(alpha).imag());
  const auto offsets = integers_now(s, *made.offsets);
  const auto indices = integers_now(s, *made.indices);
  const auto values = s.elements_now(*made.values);
  std::size_t at = 0;
  ASSERT_EQ(offsets.back(), count) << s.note();
  for (std::size_t major = 0; major + 1 < offsets.size(); ++major) {
    ASSERT_EQ(offsets[major], static_cast<std::int64_t>(at)) << s.note();
    for (; at < places.size() && places[at].first == static_cast<std::int64_t>(major); ++at) {
      ASSERT_EQ(indices[at], places[at].second) << at << s.note();
      const bool by_columns = c.format == sparse_format::csc;
      const std::int64_t row = by_columns ? places[at].second : places[at].first;
      const std::int64_t column = by_columns ? places[at].first : places[at].second;
      const dtype compute = c.type == dtype::f16 || c.type == dtype::bf16 ? dtype::f32 : c.type;
      s.expect_near(c.type, values[at], expected(row, column), scale * sums(row, column).real(),
                    a.most_terms() * std::max<std::int64_t>(1, b.most_terms()), compute,
                    "element " + std::to_string(at));
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(SparseProducts, SpgemmMultipliesEveryType) {
  for (const sparse_format format : compressed_formats) {
    for (const dtype type : sparse_types) {
      for (const dtype index : index_types) {
        for (const dtype other : index_types) {
          for (const bool ordered : {true, false}) {
            expect_product({.format = format,
                            .type = type,
                            .index = index,
                            .other_index = other,
                            .m = 17,
                            .k = 23,
                            .n = 31,
                            .ordered = ordered,
                            .spare = ordered ? 0 : 5});
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(SparseProducts, SpgemmTakesEveryShape) {
  for (const sparse_format format : compressed_formats) {
    for (const std::int64_t m : {0, 1, 9}) {
      for (const std::int64_t k : {0, 1, 6}) {
        for (const std::int64_t n : {0, 1, 70}) {
          for (const double density : {0.0, 0.4, 1.0}) {
            expect_product({.format = format, .m = m, .k = k, .n = n, .density = density});
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(SparseProducts, SpgemmMultipliesLargerMatrices) {
  expect_product({.m = 300, .k = 260, .n = 500, .density = 0.03, .spare = 100});
  expect_product({.format = sparse_format::csc,
                  .type = dtype::c64,
                  .m = 200,
                  .k = 150,
                  .n = 170,
                  .density = 0.05,
                  .ordered = false});
}

TEST(SparseProducts, SpgemmSaysHowManyElementsThereAreWhereThereIsNoRoom) {
  for (const sparse_format format : compressed_formats) {
    scene s;
    const sparse_shape shape{format, dtype::f32, dtype::i32, 12, 12, 0.4};
    const test_sparse a = sparse_of(s, shape);
    const test_sparse b = sparse_of(s, shape);
    const auto count = static_cast<std::int64_t>(places_of(a, b).size());
    ASSERT_GT(count, 0);
    for (const std::int64_t room : {std::int64_t{0}, count - 1}) {
      auto& nnz = s.vector(dtype::i64, 1);
      const auto answer = s.attempt(
          sparse::spgemm{.a = a.a, .b = b.a, .c = room_for(s, shape, room).a, .nnz = nnz.view});
      ASSERT_FALSE(answer) << s.note();
      EXPECT_EQ(answer.error().code, errc::capacity_exceeded) << s.note();
      EXPECT_NE(answer.error().message.find("needs " + std::to_string(count) +
                                            " elements, but the result has room for " +
                                            std::to_string(room)),
                std::string::npos)
          << answer.error().message << s.note();
      EXPECT_EQ(integers_now(s, nnz)[0], count) << s.note();
    }
  }
}

TEST(SparseProducts, SpgemmRefusesPatternsThatPointOutside) {
  for (const sparse_format format : compressed_formats) {
    for (const bool of_a : {true, false}) {
      for (const bool of_offsets : {true, false}) {
        for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{9}, std::int64_t{1} << 40}) {
          scene s;
          const sparse_shape shape{format, dtype::f64, dtype::i64, 3, 3, 0};
          const std::vector<sparse_element> all{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 2}};
          const test_sparse a = sparse_of(s, shape, all);
          const test_sparse b = sparse_of(s, shape, all);
          test_tensor& spoilt = *(of_offsets ? (of_a ? a : b).offsets : (of_a ? a : b).indices);
          std::vector<number> values = spoilt.values;
          values[1] = static_cast<double>(bad);
          s.fill(spoilt, values);
          const auto size = s.attempt(sparse::spgemm_size{.a = a.a, .b = b.a});
          ASSERT_FALSE(size) << s.note();
          EXPECT_EQ(size.error().code, errc::invalid_argument) << s.note();
          const auto made =
              s.attempt(sparse::spgemm{.a = a.a, .b = b.a, .c = room_for(s, shape, 9).a});
          ASSERT_FALSE(made) << s.note();
          EXPECT_EQ(made.error().code, errc::invalid_argument) << s.note();
          EXPECT_EQ(made.error().message, size.error().message) << s.note();
          EXPECT_NE(made.error().message.find(of_offsets ? "offsets[" : "is outside [0, 3)"),
                    std::string::npos)
              << made.error().message << s.note();
        }
      }
    }
  }
}

TEST(SparseProducts, SpgemmRefusesArgumentsThatDoNotFit) {
  scene s;
  const auto of = [&](sparse_format format, std::int64_t m, std::int64_t n,
                      dtype type = dtype::f64) {
    return sparse_of(s, {format, type, dtype::i32, m, n}).a;
  };
  const auto room = [&](sparse_format format, std::int64_t m, std::int64_t n,
                        dtype type = dtype::f64) {
    return room_for(s, {format, type, dtype::i32, m, n}, 9).a;
  };
  using enum sparse_format;
  s.refuse(sparse::spgemm{.a = of(csr, 3, 4), .b = of(csc, 4, 5), .c = room(csr, 3, 5)},
           errc::invalid_argument, "a and b must both be csr or both be csc");
  s.refuse(sparse::spgemm{.a = of(coo, 3, 4), .b = of(coo, 4, 5), .c = room(coo, 3, 5)},
           errc::invalid_argument, "a and b must both be csr or both be csc");
  s.refuse(sparse::spgemm{.a = of(csr, 3, 4), .b = of(csr, 5, 5), .c = room(csr, 3, 5)},
           errc::shape_mismatch, "a is [3, 4], b is [5, 5]");
  s.refuse(sparse::spgemm{.a = of(csr, 3, 4), .b = of(csr, 4, 5), .c = room(csr, 3, 6)},
           errc::shape_mismatch, "c is [3, 6], but a · b is [3, 5]");
  s.refuse(sparse::spgemm{.a = of(csr, 3, 4), .b = of(csr, 4, 5), .c = room(csc, 3, 5)},
           errc::invalid_argument, "c must have the format of a and b");
  s.refuse(sparse::spgemm{.a = of(csr, 3, 4), .b = of(csr, 4, 5), .c = room(csr, 3, 5, dtype::f32)},
           errc::type_mismatch);
  s.refuse(sparse::spgemm_size{.a = of(csr, 3, 4), .b = of(csr, 3, 4)}, errc::shape_mismatch);
}

}  // namespace
}  // namespace troupe::conformance
