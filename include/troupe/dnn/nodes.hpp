#pragma once

#include <troupe/base/export.hpp>
#include <troupe/dnn/modes.hpp>
#include <troupe/elementwise/opcode.hpp>
#include <troupe/elementwise/reduce.hpp>
#include <troupe/tensor/dtype.hpp>
#include <troupe/tensor/scalar.hpp>

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace troupe::dnn::detail {
class computation_builder;
}

/// The vocabulary of a `computation`: tensors that exist while it is built, operators and functions
/// of them.
namespace troupe::dnn::nodes {

/// The kind of a computation's node. The values are part of the wire format.
enum class kind : std::uint8_t {
  input,
  constant,
  pointwise,    ///< an opcode of elementwise functions, on operands that are broadcast
  activation,   ///< one of `dnn::activation`
  cast,         ///< rounds to an element type
  matmul,       ///< on the last two dimensions; those before them are broadcast
  convolution,  ///< as `dnn.convolution_forward` without its epilogue
  reduction,    ///< along axes, which stay with extent 1
  layer_norm,   ///< over the last dimensions
  rms_norm,     ///< likewise
  transpose,    ///< the dimensions in another order
};
inline constexpr int kind_count = static_cast<int>(kind::transpose) + 1;

/// A tensor of a computation: an input, a number, or the result of a function of others. It exists
/// while the computation is built.
class TROUPE_EXPORT node {
 public:
  /// A number. It takes the type of the other operand.
  template <class T>
    requires std::is_arithmetic_v<T>
  node(T number) noexcept : constant_(number) {}

 private:
  friend class detail::computation_builder;
  node(std::uint64_t graph, std::uint16_t number) noexcept : graph_(graph), number_(number) {}

  std::uint64_t graph_ = 0;  // that it belongs to; none for a number
  std::uint16_t number_ = 0;
  scalar constant_;
};

/// One operation on elements, broadcast as in NumPy. Throws `failure` (`errc::invalid_argument`) if
/// nothing is being built, an operand belongs to another computation, or the opcode has another
/// number of operands, is a source, or is one of rows.
[[nodiscard]] TROUPE_EXPORT node apply(elementwise::opcode op, std::span<const node> operands);
[[nodiscard]] TROUPE_EXPORT node apply(dnn::activation what, const node& a);
/// Rounds to an element type, which the result then has as an operand. Not complex.
[[nodiscard]] TROUPE_EXPORT node cast(const node& a, dtype type);

/// [..., m, k] · [..., k, n] → [..., m, n]; the extents before the last two are broadcast.
[[nodiscard]] TROUPE_EXPORT node matmul(const node& a, const node& b);

/// As the fields of `convolution_forward`.
struct convolution_options {
  std::vector<std::int64_t> stride{};
  std::vector<std::int64_t> dilation{};
  std::vector<std::int64_t> padding{};
  std::vector<std::int64_t> post_padding{};
  std::int64_t groups = 1;
};
/// x is [n, c, in…], w [k, c / groups, filter…].
[[nodiscard]] TROUPE_EXPORT node convolution(const node& x, const node& w,
                                             const convolution_options& options = {});

/// `how` is sum, product, minimum, maximum or mean. The axes stay with extent 1; negative ones
/// count from the last.
[[nodiscard]] TROUPE_EXPORT node reduce(elementwise::reduction how, const node& a,
                                        const std::vector<std::int64_t>& axes);
/// (x − mean) / √(variance + eps) over the last `dimensions`, then · weight + bias, which are
/// broadcast to x.
[[nodiscard]] TROUPE_EXPORT node layer_norm(const node& x, double eps = 1e-5, int dimensions = 1);
[[nodiscard]] TROUPE_EXPORT node layer_norm(const node& x, const node& weight, double eps = 1e-5,
                                            int dimensions = 1);
[[nodiscard]] TROUPE_EXPORT node layer_norm(const node& x, const node& weight, const node& bias,
                                            double eps = 1e-5, int dimensions = 1);
/// x / √(mean of x² + eps), then · weight.
[[nodiscard]] TROUPE_EXPORT node rms_norm(const node& x, double eps = 1e-5, int dimensions = 1);
[[nodiscard]] TROUPE_EXPORT node rms_norm(const node& x, const node& weight, double eps = 1e-5,
                                          int dimensions = 1);
/// Dimension d of the result is dimension order[d] of a. Moves nothing.
[[nodiscard]] TROUPE_EXPORT node transpose(const node& a, const std::vector<std::int64_t>& order);

/// exp(a − max) / sum, along axes.
[[nodiscard]] TROUPE_EXPORT node softmax(const node& a,
                                         const std::vector<std::int64_t>& axes = {-1});

// clang-format off
[[nodiscard]] inline node apply(elementwise::opcode op, const node& a) { return apply(op, std::span(&a, 1)); }
[[nodiscard]] inline node apply(elementwise::opcode op, const node& a, const node& b) {
  const node both[] = {a, b};
  return apply(op, both);
}
[[nodiscard]] inline node apply(elementwise::opcode op, const node& a, const node& b, const node& c) {
  const node all[] = {a, b, c};
  return apply(op, all);
}
[[nodiscard]] inline node operator+(const node& a, const node& b) { return apply(elementwise::opcode::add, a, b); }
[[nodiscard]] inline node operator-(const node& a, const node& b) { return apply(elementwise::opcode::subtract, a, b); }
[[nodiscard]] inline node operator*(const node& a, const node& b) { return apply(elementwise::opcode::multiply, a, b); }
[[nodiscard]] inline node operator/(const node& a, const node& b) { return apply(elementwise::opcode::divide, a, b); }
[[nodiscard]] inline node operator-(const node& a) { return apply(elementwise::opcode::negative, a); }
[[nodiscard]] inline node operator<(const node& a, const node& b) { return apply(elementwise::opcode::less, a, b); }
[[nodiscard]] inline node operator<=(const node& a, const node& b) { return apply(elementwise::opcode::less_equal, a, b); }
[[nodiscard]] inline node operator>(const node& a, const node& b) { return apply(elementwise::opcode::less, b, a); }
[[nodiscard]] inline node operator>=(const node& a, const node& b) { return apply(elementwise::opcode::less_equal, b, a); }
[[nodiscard]] inline node abs(const node& a) { return apply(elementwise::opcode::absolute, a); }
[[nodiscard]] inline node exp(const node& a) { return apply(elementwise::opcode::exp, a); }
[[nodiscard]] inline node log(const node& a) { return apply(elementwise::opcode::log, a); }
[[nodiscard]] inline node sqrt(const node& a) { return apply(elementwise::opcode::sqrt, a); }
[[nodiscard]] inline node rsqrt(const node& a) { return apply(elementwise::opcode::rsqrt, a); }
[[nodiscard]] inline node erf(const node& a) { return apply(elementwise::opcode::erf, a); }
[[nodiscard]] inline node sin(const node& a) { return apply(elementwise::opcode::sin, a); }
[[nodiscard]] inline node cos(const node& a) { return apply(elementwise::opcode::cos, a); }
[[nodiscard]] inline node tanh(const node& a) { return apply(elementwise::opcode::tanh, a); }
[[nodiscard]] inline node min(const node& a, const node& b) { return apply(elementwise::opcode::minimum, a, b); }
[[nodiscard]] inline node max(const node& a, const node& b) { return apply(elementwise::opcode::maximum, a, b); }
[[nodiscard]] inline node pow(const node& a, const node& b) { return apply(elementwise::opcode::power, a, b); }
[[nodiscard]] inline node select(const node& condition, const node& a, const node& b) { return apply(elementwise::opcode::select, condition, a, b); }
[[nodiscard]] inline node square(const node& a) { return a * a; }
[[nodiscard]] inline node relu(const node& a) { return apply(dnn::activation::relu, a); }
[[nodiscard]] inline node gelu(const node& a) { return apply(dnn::activation::gelu, a); }
[[nodiscard]] inline node gelu_tanh(const node& a) { return apply(dnn::activation::gelu_tanh, a); }
[[nodiscard]] inline node silu(const node& a) { return apply(dnn::activation::silu, a); }
[[nodiscard]] inline node sigmoid(const node& a) { return apply(dnn::activation::sigmoid, a); }
[[nodiscard]] inline node softplus(const node& a) { return apply(dnn::activation::softplus, a); }
[[nodiscard]] inline node sum(const node& a, const std::vector<std::int64_t>& axes) { return reduce(elementwise::reduction::sum, a, axes); }
[[nodiscard]] inline node mean(const node& a, const std::vector<std::int64_t>& axes) { return reduce(elementwise::reduction::mean, a, axes); }
[[nodiscard]] inline node maximum(const node& a, const std::vector<std::int64_t>& axes) { return reduce(elementwise::reduction::maximum, a, axes); }
[[nodiscard]] inline node minimum(const node& a, const std::vector<std::int64_t>& axes) { return reduce(elementwise::reduction::minimum, a, axes); }
// clang-format on

}  // namespace troupe::dnn::nodes
