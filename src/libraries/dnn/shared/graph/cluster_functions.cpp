#include "libraries/dnn/shared/graph/clusters.hpp"

#include <bit>
#include <map>

namespace troupe::dnn {
namespace {

using elementwise::opcode;
using elementwise::value;
using nodes::entry;
using nodes::kind;

value number_of(const scalar& constant) {
  switch (constant.what()) {
    case scalar::kind::integer:
      return constant.as<std::int64_t>();
    case scalar::kind::unsigned_integer:
      return constant.as<std::uint64_t>();
    case scalar::kind::real:
    case scalar::kind::complex:
      break;
  }
  return constant.as<double>();
}

value activated(activation what, const value& x) {
  switch (what) {
    case activation::relu:
      return elementwise::relu(x);
    case activation::gelu:
      return elementwise::gelu(x);
    case activation::gelu_tanh:
      return elementwise::gelu_tanh(x);
    case activation::silu:
      return elementwise::silu(x);
    case activation::sigmoid:
      return elementwise::sigmoid(x);
    case activation::tanh:
      return tanh(x);
    case activation::softplus:
      return elementwise::softplus(x);
    case activation::none:
    case activation::clipped_relu:
    case activation::leaky_relu:
    case activation::elu:
      break;  // the check lets none of these in
  }
  return x;
}

value reduced(elementwise::reduction how, const value& x) {
  switch (how) {
    case elementwise::reduction::product:
      return row_product(x);
    case elementwise::reduction::minimum:
      return row_min(x);
    case elementwise::reduction::maximum:
      return row_max(x);
    case elementwise::reduction::mean:
      return row_sum(x) / elementwise::row_length();
    case elementwise::reduction::sum:
    case elementwise::reduction::argmin:
    case elementwise::reduction::argmax:
    case elementwise::reduction::any:
    case elementwise::reduction::all:
      break;
  }
  return row_sum(x);
}

value row_mean(const value& x) { return row_sum(x) / elementwise::row_length(); }

/// Computes nodes, each once.
class evaluation {
 public:
  evaluation(const clustering& graph, std::span<const scalar> constants,
             std::span<const std::size_t> leaves, std::span<const value> inputs)
      : graph_(graph), constants_(constants) {
    for (std::size_t i = 0; i < leaves.size(); ++i)
      known_.emplace(leaves[i], inputs[i]);
  }

  [[nodiscard]] value of(std::size_t n) {
    if (const auto found = known_.find(n); found != known_.end()) return found->second;
    return known_.emplace(n, computed(graph_.entry(n))).first->second;
  }

 private:
  [[nodiscard]] value operand(const entry& one, std::size_t k) { return of(one.operands[k]); }

  [[nodiscard]] value norm(const entry& one) {
    const value x = operand(one, 0);
    const double eps = std::bit_cast<double>(one.numbers[1]);
    const bool centered = one.what == kind::layer_norm;
    const value shifted = centered ? x - row_mean(x) : x;
    value y = shifted * rsqrt(row_mean(shifted * shifted) + eps);
    if (one.operands.size() > 1) y = y * operand(one, 1);
    if (one.operands.size() > 2) y = y + operand(one, 2);
    return y;
  }

  [[nodiscard]] value computed(const entry& one) {
    switch (one.what) {
      case kind::constant:
        return number_of(constants_[static_cast<std::size_t>(one.numbers[0])]);
      case kind::activation:
        return activated(static_cast<activation>(one.detail), operand(one, 0));
      case kind::cast:
        return elementwise::cast(operand(one, 0), static_cast<dtype>(one.detail));
      case kind::reduction:
        return reduced(static_cast<elementwise::reduction>(one.detail), operand(one, 0));
      case kind::layer_norm:
      case kind::rms_norm:
        return norm(one);
      case kind::pointwise:
      case kind::input:
      case kind::matmul:
      case kind::convolution:
      case kind::transpose:
        break;
    }
    const auto op = static_cast<opcode>(one.detail);
    switch (one.operands.size()) {
      case 1:
        return elementwise::apply(op, operand(one, 0));
      case 2:
        return elementwise::apply(op, operand(one, 0), operand(one, 1));
      default:
        return elementwise::apply(op, operand(one, 0), operand(one, 1), operand(one, 2));
    }
  }

  const clustering& graph_;
  std::span<const scalar> constants_;
  std::map<std::size_t, value> known_;
};

}  // namespace

elementwise::function function_of(const clustering& graph, std::span<const scalar> constants,
                                  std::span<const std::size_t> leaves,
                                  std::span<const std::size_t> roots) {
  return elementwise::function::of(static_cast<int>(leaves.size()),
                                   [&](std::span<const value> inputs) {
                                     evaluation now(graph, constants, leaves, inputs);
                                     std::vector<elementwise::result_value> made;
                                     for (const std::size_t n : roots)
                                       made.emplace_back(now.of(n));
                                     return made;
                                   });
}

}  // namespace troupe::dnn
