#include "sparse_matrices.hpp"

#include <troupe/sparse/validation.hpp>

namespace troupe::conformance {
namespace {

TEST(SparseValidate, TakesGoodPatterns) {
  struct size {
    std::int64_t rows;
    std::int64_t columns;
  };
  for (const sparse_format format : sparse_formats) {
    for (const dtype index : index_types) {
      for (const size& n : {size{0, 0}, {0, 5}, {5, 0}, {1, 1}, {7, 5}, {700, 300}}) {
        scene s;
        const sparse_shape shape{format, dtype::f32, index, n.rows, n.columns};
        s.name(case_name(shape, "validate"));
        s.run(sparse::validate{.a = sparse_of(s, shape).a});
      }
    }
  }
}

using numbers = std::vector<std::int64_t>;

/// A matrix of 4 by 6, unless its format says otherwise, and what is wrong with it.
struct wrong {
  sparse_format format;
  numbers offsets;  ///< for coo, row indices
  numbers indices;
  std::string_view message;
};

test_tensor& values_for(scene& s, const wrong& w) {
  if (w.format == sparse_format::bsr)
    return s.tensor(dtype::f64, {static_cast<std::int64_t>(w.indices.size()), 2, 3}, {6, 3, 1});
  if (w.format == sparse_format::blocked_ell) return s.tensor(dtype::f64, {4, 4}, {4, 1});
  return s.vector(dtype::f64, static_cast<std::int64_t>(w.indices.size()));
}

sparse_matrix matrix_of(scene& s, const wrong& w, dtype index) {
  sparse_matrix a{.format = w.format, .rows = 4, .columns = 6};
  auto& first = integers(s, index, w.offsets);
  (w.format == sparse_format::coo ? a.row_indices : a.offsets) = first.view;
  auto& indices = integers(s, index, w.indices);
  a.indices = indices.view;
  if (w.format == sparse_format::blocked_ell) {
    a.offsets = {};
    auto& blocks = s.tensor(index, {2, 2}, {2, 1});
    s.fill(blocks, indices.values);
    a.indices = blocks.view;
  }
  if (w.format == sparse_format::sliced_ell) a.slice_rows = 2;
  a.values = values_for(s, w).view;
  return a;
}

constexpr auto csr = sparse_format::csr;
constexpr auto csc = sparse_format::csc;
constexpr auto coo = sparse_format::coo;
constexpr auto bsr = sparse_format::bsr;
constexpr auto ell = sparse_format::blocked_ell;
constexpr auto sell = sparse_format::sliced_ell;

const wrong wrongs[] = {
    {csr, {1, 2, 3, 3, 4}, {0, 1, 2, 3}, "offsets[0] is 1, not 0"},
    {csr, {0, 2, 1, 3, 4}, {0, 1, 2, 3}, "offsets[2] is 1, less than the one before, 2"},
    {csr, {0, 9, 9, 9, 4}, {0, 1, 2, 3}, "offsets[4] is 4, less than the one before, 9"},
    {csr, {0, 2, 2, 3, 5}, {0, 1, 2, 3}, "the last of offsets is 5, not the number of elements, 4"},
    {csr, {0, 2, 2, 3, 4}, {0, 1, 6, 3}, "row 2: column 6 is outside [0, 6)"},
    {csr, {0, 2, 2, 3, 4}, {0, 1, -1, 3}, "row 2: column -1 is outside [0, 6)"},
    {csr, {0, 0, 3, 3, 4}, {0, 2, 2, 1}, "row 1: column 2 occurs twice"},
    {csr, {0, 0, 3, 3, 4}, {0, 5, 2, 1}, "row 1: column 2 comes behind column 5"},
    {csc, {0, 1, 1, 1, 3, 3, 4}, {0, 3, 3, 1}, "column 3: row 3 occurs twice"},
    {csc, {0, 1, 1, 1, 3, 3, 4}, {0, 1, 4, 1}, "column 3: row 4 is outside [0, 4)"},
    {coo, {0, 1, 4, 3}, {0, 1, 2, 3}, "element 2: row 4 is outside [0, 4)"},
    {coo, {0, 2, 1, 3}, {0, 1, 2, 3}, "element 2: row 1 comes behind row 2"},
    {coo, {0, 2, 2, 3}, {0, 1, 1, 3}, "row 2: column 1 occurs twice"},
    {coo, {0, 2, 2, 3}, {0, 5, 1, 3}, "row 2: column 1 comes behind column 5"},
    {coo, {0, 2, 2, 3}, {0, 5, 6, 3}, "row 2: column 6 is outside [0, 6)"},
    {bsr, {0, 1, 3}, {0, 1, 1}, "block row 1: block column 1 occurs twice"},
    {bsr, {0, 1, 3}, {2, 0, 1}, "block row 0: block column 2 is outside [0, 2)"},
    {ell, {}, {0, 2, -1, 1}, "block row 1: block column 1 comes behind padding"},
    {ell, {}, {0, 2, 3, -1}, "block row 1: block column 3 is outside [0, 3)"},
    {ell, {}, {2, 2, 1, -1}, "block row 0: block column 2 occurs twice"},
    {sell, {0, 3, 6}, {0, 1, 2, 3, 4, 5}, "slice 0 has 3 elements, which are not rows of 2"},
    {sell, {0, 4, 6}, {0, 1, 2, 1, 4, 5}, "row 1: column 1 occurs twice"},
    {sell, {0, 4, 6}, {0, -1, 2, 1, 4, 5}, "row 1: column 1 comes behind padding"},
    {sell, {0, 4, 6}, {0, 1, 2, -1, 4, -2}, "row 3: column -2 is outside [0, 6)"},
};

TEST(SparseValidate, SaysWhatIsWrongAndWhere) {
  for (const dtype index : index_types) {
    for (const wrong& w : wrongs) {
      scene s;
      s.name(std::string(w.message));
      const auto answer = s.attempt(sparse::validate{.a = matrix_of(s, w, index)});
      ASSERT_FALSE(answer) << s.note();
      EXPECT_EQ(answer.error().code, errc::invalid_argument) << s.note();
      EXPECT_EQ(answer.error().message, w.message) << s.note();
    }
  }
}

TEST(SparseValidate, FindsTheFirstFaultOfMany) {
  // The last one, too, however the checks are shared out.
  struct {
    std::int64_t rows, first;
  } constexpr cases[] = {{100'000, 77'777}, {100'000, 99'999}, {100'001, 100'000}};
  for (const auto& [rows, first] : cases) {
    scene s;
    numbers offsets;
    numbers indices;
    for (std::int64_t i = 0; i < rows; ++i) {
      offsets.push_back(2 * i);
      indices.insert(indices.end(), {3, i < first ? 4 : 3});
    }
    offsets.push_back(2 * rows);
    const auto a = sparse_matrix::csr(5, integers(s, dtype::i32, offsets).view,
                                      integers(s, dtype::i32, indices).view,
                                      s.vector(dtype::f32, 2 * rows).view);
    const auto answer = s.attempt(sparse::validate{.a = a});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().message, "row " + std::to_string(first) + ": column 3 occurs twice");
  }
}

TEST(SparseValidate, RefusesTensorsThatAreNoMatrix) {
  scene s;
  const wrong good{csr, {0, 2, 2, 3, 4}, {0, 1, 2, 3}, ""};
  sparse_matrix a = matrix_of(s, good, dtype::i32);
  a.slice_rows = 2;
  s.refuse(sparse::validate{.a = a}, errc::invalid_argument, "slice_rows");
  a = matrix_of(s, {bsr, {0, 1, 2}, {0, 1}, ""}, dtype::i32);
  a.columns = 7;
  s.refuse(sparse::validate{.a = a}, errc::shape_mismatch,
           "columns is 7, which blocks of 3 do not fill");
  a = matrix_of(s, {ell, {}, {0, 1, 2, -1}, ""}, dtype::i32);
  a.rows = 6;
  s.refuse(sparse::validate{.a = a}, errc::shape_mismatch, "the first extent of values");
  a = matrix_of(s, {sell, {0, 2, 4}, {0, 1, 2, 3}, ""}, dtype::i32);
  a.slice_rows = 0;
  s.refuse(sparse::validate{.a = a}, errc::invalid_argument, "slice_rows must be positive");
}

}  // namespace
}  // namespace troupe::conformance
