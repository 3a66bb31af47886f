// Prints a computation as expressions, with names for values that are used more than once.
#include "libraries/dnn/requests/graph/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <string_view>
#include <vector>

namespace troupe::dnn {
namespace {

using elementwise::opcode;
using nodes::entry;
using nodes::kind;

/// An expression, and whether it needs parentheses as an operand.
struct term {
  std::string text;
  bool compound = false;
  [[nodiscard]] std::string operand() const { return compound ? "(" + text + ")" : text; }
};

std::string shown(const scalar& number) {
  if (number.what() == scalar::kind::integer) return fmt::format("{}", number.as<std::int64_t>());
  return fmt::format("{}", number.as<double>());
}

std::string_view infix(opcode op) noexcept {
  switch (op) {
    case opcode::add:
      return "+";
    case opcode::subtract:
      return "-";
    case opcode::multiply:
      return "*";
    case opcode::divide:
      return "/";
    case opcode::equal:
      return "==";
    case opcode::not_equal:
      return "!=";
    case opcode::less:
      return "<";
    case opcode::less_equal:
      return "<=";
    default:
      return {};
  }
}

std::string_view name_of(activation what) noexcept {
  switch (what) {
    case activation::relu:
      return "relu";
    case activation::gelu:
      return "gelu";
    case activation::gelu_tanh:
      return "gelu_tanh";
    case activation::silu:
      return "silu";
    case activation::sigmoid:
      return "sigmoid";
    case activation::tanh:
      return "tanh";
    case activation::softplus:
      return "softplus";
    case activation::none:
    case activation::clipped_relu:
    case activation::leaky_relu:
    case activation::elu:
      break;
  }
  return "activation";
}

std::string_view name_of(elementwise::reduction how) noexcept {
  switch (how) {
    case elementwise::reduction::sum:
      return "sum";
    case elementwise::reduction::product:
      return "product";
    case elementwise::reduction::minimum:
      return "minimum";
    case elementwise::reduction::maximum:
      return "maximum";
    case elementwise::reduction::mean:
      return "mean";
    case elementwise::reduction::argmin:
    case elementwise::reduction::argmax:
    case elementwise::reduction::any:
    case elementwise::reduction::all:
      break;
  }
  return "reduce";
}

// Options with their default values are omitted.
std::string options_of(const entry& one) {
  std::string text;
  std::size_t at = 1;
  for (const std::string_view name : {"stride", "dilation", "padding", "post_padding"}) {
    const auto count = static_cast<std::size_t>(one.numbers[at++]);
    if (count > 0) {
      text += fmt::format(", {}=[{}]", name,
                          fmt::join(std::span(one.numbers).subspan(at, count), ", "));
    }
    at += count;
  }
  if (one.numbers[0] != 1) text += fmt::format(", groups={}", one.numbers[0]);
  return text;
}

term shown(const entry& one, std::span<const term> terms, std::span<const scalar> constants) {
  const auto call = [&](std::string_view name, std::string_view more = {}) {
    std::string text(name);
    text += "(";
    for (std::size_t i = 0; i < one.operands.size(); ++i)
      text += (i == 0 ? "" : ", ") + terms[one.operands[i]].text;
    return term{text.append(more).append(")")};
  };
  const auto list = [&] { return fmt::format(", [{}]", fmt::join(one.numbers, ", ")); };
  switch (one.what) {
    case kind::input:
      return {fmt::format("x{}", one.numbers[0])};
    case kind::constant:
      return {shown(constants[static_cast<std::size_t>(one.numbers[0])])};
    case kind::pointwise: {
      const auto op = static_cast<opcode>(one.detail);
      const auto operand = [&](std::size_t i) { return terms[one.operands[i]].operand(); };
      if (const std::string_view sign = infix(op); !sign.empty())
        return {fmt::format("{} {} {}", operand(0), sign, operand(1)), true};
      if (op == opcode::negative) return {"-" + operand(0)};
      return call(traits_of(op).name);
    }
    case kind::activation:
      return call(name_of(static_cast<activation>(one.detail)));
    case kind::cast:
      return call(to_string(static_cast<dtype>(one.detail)));
    case kind::matmul:
      return call("matmul");
    case kind::convolution:
      return call("convolution", options_of(one));
    case kind::reduction:
      return call(name_of(static_cast<elementwise::reduction>(one.detail)), list());
    case kind::layer_norm:
    case kind::rms_norm: {
      std::string more = fmt::format(", eps={}", std::bit_cast<double>(one.numbers[1]));
      if (one.numbers[0] != 1) more += fmt::format(", dimensions={}", one.numbers[0]);
      return call(one.what == kind::layer_norm ? "layer_norm" : "rms_norm", more);
    }
    case kind::transpose:
      return call("transpose", list());
  }
  return {};
}

}  // namespace

std::string detail::expression_of(std::span<const entry> entries, std::span<const scalar> constants,
                                  std::size_t node) {
  constexpr std::size_t longest = 160;
  std::vector<term> terms;
  for (std::size_t i = 0; i <= node; ++i) {
    terms.push_back(shown(entries[i], terms, constants));
    // An expression doubles where a node is used twice.
    if (terms.back().text.size() > longest) terms.back() = {fmt::format("t{}", i)};
  }
  return terms.back().text;
}

std::string computation::to_string() const {
  if (!check()) return "no valid computation";
  const auto all = entries();
  const auto outputs = results();
  std::vector<int> uses(all.size(), 0);
  for (const entry& one : all) {
    for (const std::uint16_t operand : one.operands)
      ++uses[operand];
  }
  std::string text;
  const auto statement = [&](const std::string& name, const std::string& what) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : "; ", name, what);
  };
  std::vector<term> terms;
  int named = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    terms.push_back(shown(all[i], terms, constants_));
    if (uses[i] > 1 && !all[i].operands.empty()) {
      const std::string name = fmt::format("t{}", named++);
      statement(name, terms.back().text);
      terms.back() = {name};
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    statement(fmt::format("y{}", i), terms[outputs[i]].text);
  return text;
}

}  // namespace troupe::dnn
