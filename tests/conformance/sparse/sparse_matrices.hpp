#pragma once

#include "conformance/scene.hpp"

#include <troupe/sparse/matrix.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::conformance {

inline constexpr dtype sparse_types[] = {dtype::f64,  dtype::f32,  dtype::f16,
                                         dtype::bf16, dtype::c128, dtype::c64};
inline constexpr dtype index_types[] = {dtype::i32, dtype::i64};
inline constexpr sparse_format sparse_formats[] = {
    sparse_format::csr, sparse_format::csc,         sparse_format::coo,
    sparse_format::bsr, sparse_format::blocked_ell, sparse_format::sliced_ell};
inline constexpr sparse_format compressed_formats[] = {sparse_format::csr, sparse_format::csc};

struct matrix_size {
  std::int64_t rows;
  std::int64_t columns;
};

/// How a matrix of a test is made.
struct sparse_shape {
  sparse_format format = sparse_format::csr;
  dtype type = dtype::f64;
  dtype index = dtype::i32;
  std::int64_t rows = 0;     ///< for bsr and blocked_ell, rows of blocks
  std::int64_t columns = 0;  ///< likewise
  double density = 0.3;
  bool ordered = true;  ///< otherwise indices of a row come in any order, and some twice
};

/// A sparse matrix of a scene, and what it is as a dense one.
struct test_sparse {
  sparse_matrix a;
  test_tensor* offsets = nullptr;
  test_tensor* row_indices = nullptr;
  test_tensor* indices = nullptr;
  test_tensor* values = nullptr;
  struct place {
    std::int64_t row = -1;  ///< −1: padding, which holds a NaN
    std::int64_t column = -1;
  };
  std::vector<place> places;  ///< one for each of the values

  /// Values that have one place are added up.
  [[nodiscard]] matrix dense() const;
  /// The same of their magnitudes.
  [[nodiscard]] matrix dense_magnitude() const;
  /// Elements of the fullest row or column, and of all rows.
  [[nodiscard]] std::int64_t most_terms() const;
};

/// With some empty rows, and random values.
test_sparse sparse_of(scene& s, const sparse_shape& shape);
/// The matrix with these elements, in their order, in csr, csc or coo.
struct sparse_element {
  std::int64_t row;
  std::int64_t column;
};
test_sparse sparse_of(scene& s, const sparse_shape& shape,
                      const std::vector<sparse_element>& elements);
/// Room for a matrix of `capacity` elements in csr, csc or coo, which a request writes.
test_sparse room_for(scene& s, const sparse_shape& shape, std::int64_t capacity);

test_tensor& integers(scene& s, dtype index, const std::vector<std::int64_t>& values);
[[nodiscard]] std::vector<std::int64_t> integers_now(scene& s, const test_tensor& t);
[[nodiscard]] std::string case_name(const sparse_shape& shape, std::string_view what);

}  // namespace troupe::conformance
