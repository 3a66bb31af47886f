#pragma once

#include "conformance/scene.hpp"
#include "libraries/blaslt/requests/geometry.hpp"

#include <troupe/blaslt/matmul.hpp>

#include <optional>
#include <string>
#include <vector>

/// Products with an epilogue, and what must come out of them by a reference in f64 that forms the
/// product and then applies the epilogue, element by element.
namespace troupe::conformance {

inline constexpr blaslt::epilogue all_epilogues[] = {
    blaslt::epilogue::none,        blaslt::epilogue::relu,          blaslt::epilogue::gelu,
    blaslt::epilogue::bias,        blaslt::epilogue::relu_bias,     blaslt::epilogue::gelu_bias,
    blaslt::epilogue::relu_aux,    blaslt::epilogue::gelu_aux,      blaslt::epilogue::relu_aux_bias,
    blaslt::epilogue::drelu,       blaslt::epilogue::gelu_aux_bias, blaslt::epilogue::dgelu,
    blaslt::epilogue::drelu_bgrad, blaslt::epilogue::dgelu_bgrad,   blaslt::epilogue::bgrad_a,
    blaslt::epilogue::bgrad_b};

/// The operand c.
enum class added : std::uint8_t { nothing, another, d_itself };

struct matmul_case {
  blaslt::combination types;
  blaslt::epilogue epilogue = blaslt::epilogue::none;
  std::int64_t m = 32;
  std::int64_t n = 48;
  std::int64_t k = 64;
  std::int64_t batch = 0;  ///< 0: matrices without that dimension
  bool row_major_a = true;
  bool row_major_b = false;
  bool row_major_d = true;
  bool padded = false;
  added c = added::nothing;
  bool shared_b = false;  ///< one b for the whole batch
  blas::op op_a = blas::op::none;
  blas::op op_b = blas::op::none;
  bool scaled = false;  ///< a factor for each of fp8's operands, and the largest magnitudes
  blaslt::scaling scaling_a = blaslt::scaling::tensor;
  blaslt::scaling scaling_b = blaslt::scaling::tensor;
  blas::math_mode math = blas::math_mode::strict;
  bool fast_accumulation = false;
  blaslt::tuning tuning = blaslt::tuning::heuristic;

  [[nodiscard]] std::string text() const;
};

/// A case with its operands. After a run its results can be checked, and it can run again:
/// `request` may be changed before `run`.
class matmul_under_test {
 public:
  explicit matmul_under_test(const matmul_case& what);

  /// Runs the request and compares all that it writes with the reference. False where a GPU's
  /// library does not offer it.
  bool run();

  scene s;
  blaslt::matmul request;
  test_tensor* a = nullptr;
  test_tensor* b = nullptr;
  test_tensor* c = nullptr;  ///< if it is another view than d
  test_tensor* d = nullptr;
  test_tensor* bias = nullptr;
  test_tensor* aux = nullptr;
  test_tensor* bgrad = nullptr;

 private:
  test_tensor& matrix_like(dtype type, std::int64_t rows, std::int64_t columns, bool row_major,
                           std::int64_t pad, bool shared = false);
  test_tensor& vector_like(dtype type, std::int64_t n, bool one_each);
  void place_epilogue();
  void place_scales();
  test_tensor& factor(double value);
  [[nodiscard]] number scale(const test_tensor* t, blaslt::scaling how, bool is_a, std::int64_t i,
                             std::int64_t j) const;
  void compare(std::int64_t product);
  void compare_sums(std::int64_t product, const std::vector<double>& sums,
                    const std::vector<double>& limits);
  void expect(dtype type, double actual, double expected, double limit, const std::string& where);

  matmul_case what_;
  test_tensor* scale_a_ = nullptr;
  test_tensor* scale_b_ = nullptr;
  test_tensor* scale_c_ = nullptr;
  test_tensor* scale_d_ = nullptr;
  test_tensor* amax_d_ = nullptr;
  double largest_d_ = 0;
  double largest_limit_ = 0;
};

/// True where cuBLASLt, and so a request, has that epilogue for these types.
[[nodiscard]] bool has_epilogue(const blaslt::combination& types, blaslt::epilogue e);
/// True where the epilogue works along d's last extent, which is contiguous then.
[[nodiscard]] bool needs_row_major_d(blaslt::epilogue e);

}  // namespace troupe::conformance
