#include "libraries/dnn/requests/graph/words.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <string_view>

namespace troupe::dnn {
namespace {

using elementwise::opcode;
using elementwise::opcode_family;
using nodes::entry;
using nodes::kind;

constexpr std::size_t word(std::int64_t packed, int shift) noexcept {
  return static_cast<std::uint64_t>(packed) >> shift & 0xffff;
}

bool has_operands(const entry& one, std::size_t least, std::size_t most) noexcept {
  return one.operands.size() >= least && one.operands.size() <= most;
}

// Four lists, each with its length before it; at most three numbers each.
bool has_lists(const entry& one) noexcept {
  std::size_t at = 1;
  for (int list = 0; list < 4; ++list) {
    if (at >= one.numbers.size() || one.numbers[at] < 0 || one.numbers[at] > 3) return false;
    at += 1 + static_cast<std::size_t>(one.numbers[at]);
  }
  return at == one.numbers.size();
}

/// The defect of a single node; empty if there is none.
std::string fault_of(const entry& one, int inputs, std::size_t constants) {
  switch (one.what) {
    case kind::input:
      if (!one.operands.empty() || one.numbers.size() != 1 || one.numbers[0] < 0 ||
          one.numbers[0] >= inputs)
        return fmt::format("there are {} inputs", inputs);
      return {};
    case kind::constant:
      if (!one.operands.empty() || one.numbers.size() != 1 || one.numbers[0] < 0 ||
          one.numbers[0] >= static_cast<std::int64_t>(constants))
        return fmt::format("there are {} constants", constants);
      return {};
    case kind::pointwise: {
      if (one.detail >= elementwise::opcode_count)
        return fmt::format("there is no opcode {}", one.detail);
      const auto op = static_cast<opcode>(one.detail);
      const auto traits = traits_of(op);
      if (traits.family == opcode_family::source || traits.family == opcode_family::output ||
          traits.family == opcode_family::cast || is_row(op) || op == opcode::philox)
        return fmt::format("{} is no operation on elements of tensors", traits.name);
      if (!one.numbers.empty() || one.operands.size() != static_cast<std::size_t>(traits.operands))
        return fmt::format("{} has {} operands; {} are given", traits.name, traits.operands,
                           one.operands.size());
      return {};
    }
    case kind::activation:
      switch (static_cast<activation>(one.detail)) {
        case activation::relu:
        case activation::gelu:
        case activation::gelu_tanh:
        case activation::silu:
        case activation::sigmoid:
        case activation::tanh:
        case activation::softplus:
          return has_operands(one, 1, 1) && one.numbers.empty() ? ""
                                                                : "an activation has one operand";
        case activation::none:
        case activation::clipped_relu:
        case activation::leaky_relu:
        case activation::elu:
          break;
      }
      return fmt::format(
          "activation {} is none of relu, gelu, gelu_tanh, silu, sigmoid, tanh and "
          "softplus",
          one.detail);
    case kind::cast:
      if (!has_operands(one, 1, 1) || !one.numbers.empty() || one.detail >= dtype_count ||
          is_complex(static_cast<dtype>(one.detail)))
        return "a cast is to a real type, of one operand";
      return {};
    case kind::matmul:
      return has_operands(one, 2, 2) && one.numbers.empty() ? "" : "a product has two operands";
    case kind::convolution:
      return has_operands(one, 2, 2) && has_lists(one)
                 ? ""
                 : "a convolution has two operands, and lists of at most three numbers";
    case kind::reduction:
      switch (static_cast<elementwise::reduction>(one.detail)) {
        case elementwise::reduction::sum:
        case elementwise::reduction::product:
        case elementwise::reduction::minimum:
        case elementwise::reduction::maximum:
        case elementwise::reduction::mean:
          return has_operands(one, 1, 1) && !one.numbers.empty()
                     ? ""
                     : "a reduction has one operand and axes";
        case elementwise::reduction::argmin:
        case elementwise::reduction::argmax:
        case elementwise::reduction::any:
        case elementwise::reduction::all:
          break;
      }
      return "a reduction is sum, product, minimum, maximum or mean";
    case kind::layer_norm:
    case kind::rms_norm: {
      const std::size_t most = one.what == kind::layer_norm ? 3 : 2;
      if (!has_operands(one, 1, most) || one.numbers.size() != 2)
        return fmt::format("a norm has 1 to {} operands", most);
      const auto eps = std::bit_cast<double>(one.numbers[1]);
      if (!(eps >= 0) || std::isinf(eps))
        return fmt::format("eps must be at least 0; it is {}", eps);
      if (one.numbers[0] < 1 || one.numbers[0] > max_rank)
        return fmt::format("a norm is over 1 to {} dimensions, not {}", max_rank, one.numbers[0]);
      return {};
    }
    case kind::transpose:
      return has_operands(one, 1, 1) ? "" : "a transpose has one operand";
  }
  return "unknown";
}

}  // namespace

int computation::inputs() const noexcept {
  return program_.empty() ? 0 : static_cast<int>(word(program_[0], 0));
}
int computation::outputs() const noexcept {
  return program_.empty() ? 0 : static_cast<int>(word(program_[0], 16));
}

std::vector<entry> computation::entries() const {
  std::vector<entry> all(program_.empty() ? 0 : word(program_[0], 32));
  if (program_.empty()) return all;
  auto rest = std::span(program_).subspan(1);
  for (entry& one : all)
    (void)detail::take(rest, one);
  return all;
}

std::vector<std::uint16_t> computation::results() const {
  std::vector<std::uint16_t> all;
  for (std::size_t i = program_.size() - static_cast<std::size_t>(outputs()); i < program_.size();
       ++i)
    all.push_back(static_cast<std::uint16_t>(program_[i]));
  return all;
}

result<void> computation::check() const {
  const auto refused = [](std::string message) {
    return error{.code = errc::invalid_argument, .message = std::move(message)};
  };
  if (program_.empty()) {
    if (constants_.empty()) return {};
    return refused("constants without a computation");
  }
  const std::size_t count = word(program_[0], 32);
  if (inputs() > most_inputs || outputs() > most_outputs || count > most_nodes ||
      constants_.size() > most_constants || program_[0] >> 48 != 0) {
    return refused(
        fmt::format("the computation has {} inputs, {} outputs, {} nodes and {} "
                    "constants; the most are {}, {}, {} and {}",
                    inputs(), outputs(), count, constants_.size(), most_inputs, most_outputs,
                    most_nodes, most_constants));
  }
  auto rest = std::span(program_).subspan(1);
  for (std::size_t i = 0; i < count; ++i) {
    entry one;
    if (!detail::take(rest, one)) return refused(fmt::format("node {} is no node", i));
    for (const std::uint16_t operand : one.operands) {
      if (operand >= i)
        return refused(fmt::format("node {} uses node {}, which does not exist yet", i, operand));
    }
    if (const std::string fault = fault_of(one, inputs(), constants_.size()); !fault.empty())
      return refused(fmt::format("node {}: {}", i, fault));
  }
  if (rest.size() != static_cast<std::size_t>(outputs()))
    return refused(
        fmt::format("{} numbers follow the nodes; there are {} outputs", rest.size(), outputs()));
  for (const std::int64_t one : rest) {
    if (one < 0 || one >= static_cast<std::int64_t>(count))
      return refused(fmt::format("an output is node {} of {}", one, count));
  }
  for (const scalar& one : constants_) {
    if (one.what() == scalar::kind::complex) return refused("a constant is complex");
  }
  return {};
}

void computation::describe(description<computation>& d) {
  d.value("computation", &computation::program_,
          "numbers of inputs, outputs and nodes, the nodes, then which are outputs");
  d.value("constants", &computation::constants_, "constants of the computation");
}

}  // namespace troupe::dnn
