#pragma once

#include "conformance/scene.hpp"
#include "libraries/blaslt/requests/combinations.hpp"

#include <troupe/sparse/structured.hpp>

#include <string>
#include <vector>

/// 2:4 weights and products with them, and what must come out by the definitions, in f64.
namespace troupe::conformance {

inline constexpr dtype structured_types[] = {dtype::f16, dtype::bf16, dtype::i8, dtype::e4m3};

/// Keeps the two of largest magnitude of each four elements of a row; the earlier of equal ones.
[[nodiscard]] matrix pruned(const matrix& x);
/// As many numbers as a matrix has, row by row.
[[nodiscard]] std::vector<number> pruned(const std::vector<number>& x);

/// The operand c.
enum class structured_c : std::uint8_t { nothing, another, d_itself };

struct structured_case {
  dtype type = dtype::bf16;  ///< a's and the weights'
  dtype d_type = dtype::bf16;
  blaslt::epilogue epilogue = blaslt::epilogue::none;
  std::int64_t m = 32;
  std::int64_t n = 64;
  std::int64_t k = 96;
  bool row_major_a = true;
  bool row_major_b = false;  ///< the weights are column-major then
  bool row_major_d = true;
  bool padded = false;
  bool compressed = true;
  structured_c c = structured_c::nothing;

  [[nodiscard]] std::string text() const;
};

/// Types of the weights and of d.
struct structured_pair {
  dtype weights;
  dtype d;
};
[[nodiscard]] std::vector<structured_pair> structured_pairs();

/// Operands of a product, whose weights are 2:4 and compressed where the case says so.
class structured_product {
 public:
  explicit structured_product(const structured_case& what);

  /// Compresses, multiplies and compares with the reference.
  void run();

  scene s;
  sparse::structured_matmul request;
  test_tensor* a = nullptr;
  test_tensor* weights = nullptr;  ///< [n, k]
  test_tensor* compressed = nullptr;
  test_tensor* c = nullptr;  ///< if it is another view than d
  test_tensor* d = nullptr;
  test_tensor* bias = nullptr;

 private:
  test_tensor& matrix_like(dtype type, std::int64_t rows, std::int64_t columns, bool row_major);
  void compare();

  structured_case what_;
};

}  // namespace troupe::conformance
