#pragma once

#include "guarded_memory.hpp"
#include "reference.hpp"
#include "runner.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>

namespace troupe::conformance {

/// How a test lays a matrix out.
enum class layout : std::uint8_t { row, column, row_padded, column_padded };
inline constexpr blas::uplo triangles[] = {blas::uplo::upper, blas::uplo::lower};
inline constexpr blas::diag diagonals[] = {blas::diag::non_unit, blas::diag::unit};
inline constexpr blas::side sides[] = {blas::side::left, blas::side::right};
inline constexpr blas::op ops[] = {blas::op::none, blas::op::conjugate};
inline constexpr blas::storage_op storage_ops[] = {
    blas::storage_op::none, blas::storage_op::transpose, blas::storage_op::conjugate_transpose,
    blas::storage_op::conjugate};
inline constexpr dtype classic_types[] = {dtype::f32, dtype::f64, dtype::c64, dtype::c128};
inline constexpr dtype classic_and_half_types[] = {dtype::f32,  dtype::f64, dtype::c64,
                                                   dtype::c128, dtype::f16, dtype::bf16};
inline constexpr dtype real_types[] = {dtype::f32, dtype::f64};
inline constexpr dtype complex_types[] = {dtype::c64, dtype::c128};
/// The real type of the same precision.
[[nodiscard]] dtype real_of(dtype type);
/// The type in which sums of such elements are formed.
[[nodiscard]] constexpr dtype computed_in(dtype type) {
  return type == dtype::f16 || type == dtype::bf16 ? dtype::f32 : type;
}
inline constexpr layout all_layouts[] = {layout::row, layout::column, layout::row_padded,
                                         layout::column_padded};
inline constexpr layout column_layouts[] = {layout::column, layout::column_padded};
[[nodiscard]] const char* to_string(layout l);

/// A tensor of a scene: its view, and its content before the request ran.
struct test_tensor {
  any_tensor view;             ///< the view for the test's requests
  std::vector<number> values;  ///< in row-major order of the view, as rounded to the type
  placement given;             ///< the view's
  placement used;              ///< that of the view in the last request

  /// A view of rank 1 (one column) or 2 as a matrix; of rank 3, its `batch`-th matrix.
  [[nodiscard]] matrix before(std::int64_t batch = 0) const;
};

struct operand_field;

/// One request and its operands: fills them, runs the request, and checks the results.
///
/// Around and between the elements of every view lie guard bytes that must not change. Tensors that
/// the request describes as written are poisoned with NaNs first, and those described as read must
/// not change: so a wrong description fails here as well as a wrong result.
///
/// In one of two cases, by chance, each operand is another view than the test's, in memory of its
/// own: it begins at any element, and its rows, matrices and so on are further apart, as far as the
/// request is still valid. Operands that share memory stay where they are.
class scene {
 public:
  scene();
  /// On another runner than the program's own.
  explicit scene(runner& on);

  using extents = std::vector<std::int64_t>;
  /// Random content in [-1, 1], or for integers in [-100, 100].
  test_tensor& tensor(dtype type, const extents& size, const extents& strides);
  test_tensor& vector(dtype type, std::int64_t n, std::int64_t stride = 1);
  test_tensor& matrix_of(dtype type, std::int64_t rows, std::int64_t columns, layout l);
  test_tensor& batch(dtype type, std::int64_t count, std::int64_t rows, std::int64_t columns,
                     layout l);
  /// The same memory through another view, of any type (aliasing, in place). Not after a request.
  test_tensor& again(const test_tensor& other, any_tensor view);
  /// Replaces the content.
  void fill(test_tensor& t, const std::vector<number>& values);
  void fill(test_tensor& t, number value);
  /// Requests get the test's own views, if their layout is being tested.
  void keep_layouts() { keeps_layouts_ = true; }

  /// Makes square matrices diagonally dominant, so that solutions do not grow out of range.
  void make_solvable(test_tensor& a);
  /// Puts NaN where the operation must not read: outside triangle `uplo` of a matrix, on its
  /// diagonal when `diag` is unit, and for a Hermitian matrix into the imaginary part of the
  /// diagonal.
  void hide_all_but(test_tensor& a, blas::uplo uplo, blas::diag diag = blas::diag::non_unit,
                    bool hermitian = false);

  /// Runs `r`; a failure fails the test.
  template <request R>
  reply_of<R> run(R r) {
    before(request_type_of<R>(), &r);
    auto answer = runner_(r);
    if (!answer) {
      ADD_FAILURE() << R::name << ": " << answer.error().to_string() << note();
      if constexpr (!std::is_void_v<reply_of<R>>) return {};
    } else {
      after();
      if constexpr (!std::is_void_v<reply_of<R>>) return *answer;
    }
  }

  /// Runs `r`, which a GPU's library may not offer: then the line that says so is printed, and the
  /// answer is false. Any other failure fails the test.
  template <request R>
  bool run_if_offered(R r) {
    before(request_type_of<R>(), &r);
    const auto answer = runner_(r);
    if (answer) {
      after();
      return true;
    }
    refused_by_library(R::name, answer.error());
    return false;
  }

  /// Runs `r` where a failure is what is looked at.
  template <request R>
  result<reply_of<R>> attempt(R r) {
    before(request_type_of<R>(), &r);
    return runner_(r);
  }

  /// Expects that `r` is refused with `code` and that the message holds `text`.
  template <request R>
  void refuse(R r, errc code, std::string_view text = {}) {
    const auto answer = runner_(std::move(r));
    refused(R::name, answer ? nullptr : &answer.error(), code, text);
  }

  /// The content after the request.
  [[nodiscard]] matrix now(const test_tensor& t, std::int64_t batch = 0);
  /// The elements, of any rank, in row-major order; and their bytes.
  [[nodiscard]] std::vector<number> elements_now(const test_tensor& t);
  [[nodiscard]] std::vector<std::byte> bytes_now(const test_tensor& t);
  /// Expects |now − expected| ≤ 4 (terms + 8) eps(compute) bound + eps(type) |expected|.
  void expect(const test_tensor& t, const matrix& expected, const matrix& bound, std::int64_t terms,
              dtype compute, std::int64_t batch = 0);
  /// Expects that `t` solves a · t = b, by the residual: |a · t − b| ≤ 4 (n + 8) eps |a| |t|.
  void expect_solution(const test_tensor& t, const matrix& a, const matrix& b,
                       std::int64_t batch = 0);
  /// The same of `x`, which is of that type.
  void expect_solution(dtype type, const matrix& x, const matrix& a, const matrix& b);
  void expect_near(dtype type, number actual, number expected, double bound, std::int64_t terms,
                   dtype compute, const std::string& where);
  /// Expects exactly these values.
  void expect_exactly(const test_tensor& t, const matrix& expected);

  [[nodiscard]] number random(dtype type);
  [[nodiscard]] std::mt19937_64& generator() { return generator_; }
  /// For failures: the case, and the seed that replays it.
  [[nodiscard]] std::string note() const;
  /// Whether the backend under test is a GPU: for what only one backend promises.
  [[nodiscard]] bool on_gpu() const;
  /// Whether executors of a GPU are under test, there or where an emulation does their work.
  [[nodiscard]] bool as_on_gpu() const;
  void name(std::string text) { text_ = std::move(text); }

 private:
  void before(const request_type& type, void* request);
  void after();
  void refused(std::string_view name, const error* refusal, errc code, std::string_view text);
  void refused_by_library(std::string_view name, const error& refusal);

  void rearrange(const request_type& type, void* request, const std::vector<operand_field>& fields);

  runner& runner_;
  std::mt19937_64 generator_;
  std::deque<test_tensor> tensors_;
  struct role {
    std::string name;
    any_tensor view;
    access what;
  };
  std::vector<role> roles_;
  std::string text_;
  bool keeps_layouts_ = false;
};

/// The seed of everything random in tests: `TROUPE_TEST_SEED`, or another one each time.
[[nodiscard]] std::uint64_t test_seed();

/// Every operation of the backend under test.
[[nodiscard]] std::span<const operation> all_operations();

/// Sizes that find edges: nothing, one, odd, primes, above a cache line, above a kernel's tile.
[[nodiscard]] std::vector<std::int64_t> edge_sizes();
/// A factor that fits `type`: complex for complex types.
[[nodiscard]] scalar factor(dtype type, double real, double imaginary);
[[nodiscard]] number as_number(const scalar& s);

}  // namespace troupe::conformance
