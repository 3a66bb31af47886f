// Prints a function as expressions, with names for values that are used more than once.
#include <troupe/elementwise/function.hpp>

#include <fmt/format.h>

#include <string>
#include <vector>

namespace troupe::elementwise {
namespace {

std::string shown(const scalar& number) {
  if (number.what() == scalar::kind::integer) return fmt::format("{}", number.as<std::int64_t>());
  if (number.what() == scalar::kind::unsigned_integer)
    return fmt::format("{}", number.as<std::uint64_t>());
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
    case opcode::remainder:
      return "%";
    case opcode::equal:
      return "==";
    case opcode::not_equal:
      return "!=";
    case opcode::less:
      return "<";
    case opcode::less_equal:
      return "<=";
    case opcode::bit_and:
      return "&";
    case opcode::bit_or:
      return "|";
    case opcode::bit_xor:
      return "^";
    case opcode::shift_left:
      return "<<";
    case opcode::shift_right:
      return ">>";
    default:
      return {};
  }
}

/// An expression, and whether it needs parentheses as an operand.
struct term {
  std::string text;
  bool compound = false;
  [[nodiscard]] std::string operand() const { return compound ? "(" + text + ")" : text; }
};

}  // namespace

std::string function::to_string() const {
  if (!check()) return "no valid function";
  std::vector<int> uses(size(), 0);
  for (std::size_t i = 0; i < size(); ++i) {
    const instruction one = at(i);
    const std::uint16_t operands[] = {one.a, one.b, one.c};
    for (int k = 0; k < traits_of(one.op).operands; ++k)
      ++uses[operands[k]];
  }
  std::string text;
  const auto statement = [&](const std::string& name, const std::string& what) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{} = {}", name, what);
  };
  std::vector<term> terms(size());
  int named = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const instruction one = at(i);
    const opcode_traits traits = traits_of(one.op);
    const std::uint16_t operands[] = {one.a, one.b, one.c};
    constexpr std::string_view parts[] = {"", ".imaginary", ".real"};
    term& made = terms[i];
    if (one.op == opcode::input) {
      made.text = fmt::format("x{}{}", one.a, parts[one.b]);
    } else if (one.op == opcode::constant) {
      made.text = shown(constants_[one.a]);
    } else if (one.op == opcode::index) {
      made.text = fmt::format("index({})", one.a);
    } else if (one.op == opcode::output) {
      statement(fmt::format("y{}{}", one.b, parts[one.c]), terms[one.a].text);
    } else if (one.op == opcode::cast) {
      made.text =
          fmt::format("{}({})", troupe::to_string(static_cast<dtype>(one.b)), terms[one.a].text);
    } else if (one.op == opcode::negative) {
      made = {fmt::format("-{}", terms[one.a].operand()), false};
    } else if (const std::string_view sign = infix(one.op); !sign.empty()) {
      made = {fmt::format("{} {} {}", terms[one.a].operand(), sign, terms[one.b].operand()), true};
    } else {
      made.text = fmt::format("{}(", traits.name);
      for (int k = 0; k < traits.operands; ++k)
        made.text += (k == 0 ? "" : ", ") + terms[operands[k]].text;
      made.text += ")";
    }
    if (uses[i] > 1 && traits.operands > 0) {
      const std::string name = fmt::format("t{}", named++);
      statement(name, made.text);
      made = {name, false};
    }
  }
  return text;
}

}  // namespace troupe::elementwise
