#include "libraries/elementwise/requests/function/graph.hpp"

#include <troupe/elementwise/function.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace troupe::elementwise {
namespace {

constexpr std::uint16_t word_at(std::int64_t packed, int shift) noexcept {
  return static_cast<std::uint16_t>(static_cast<std::uint64_t>(packed) >> shift & 0xffff);
}

}  // namespace

function::building::building(int inputs) : graph_(std::make_unique<detail::graph>(inputs)) {
  for (int i = 0; i < inputs; ++i)
    inputs_.push_back(graph_->source(opcode::input, static_cast<std::uint16_t>(i)));
}
function::building::~building() = default;

function function::building::finish(const std::vector<result_value>& outputs) const {
  return graph_->finish(outputs);
}

int function::inputs() const noexcept { return program_.empty() ? 0 : word_at(program_[0], 0); }
int function::outputs() const noexcept { return program_.empty() ? 0 : word_at(program_[0], 16); }

instruction function::at(std::size_t i) const noexcept {
  const std::int64_t packed = program_[i + 1];
  return {static_cast<opcode>(packed & 0xff), word_at(packed, 8), word_at(packed, 24),
          word_at(packed, 40)};
}

bool function::has_row_operations() const noexcept {
  for (std::size_t i = 0; i < size(); ++i) {
    const opcode op = at(i).op;
    if (is_row(op) || op == opcode::row_length) return true;
  }
  return false;
}

std::vector<result_value> function::operator()(std::span<const result_value> inputs) const {
  const std::vector<value> values = detail::graph::current().replay(*this, inputs);
  std::vector<result_value> made(static_cast<std::size_t>(outputs()), result_value(value(0)));
  for (std::size_t i = 0; i < size(); ++i) {
    const instruction one = at(i);
    if (one.op != opcode::output) continue;
    if (one.c == 0)
      made[one.b].real = values[i];
    else
      made[one.b].imaginary = values[i];
  }
  return made;
}

function function::with_constants(std::vector<scalar> constants) const {
  if (!std::ranges::equal(constants, constants_, {}, &scalar::what, &scalar::what)) {
    throw failure({.code = errc::invalid_argument,
                   .message = fmt::format("elementwise function: its {} constants are replaced by "
                                          "{}, or one by another kind of number",
                                          constants_.size(), constants.size())});
  }
  function made = *this;
  made.constants_ = std::move(constants);
  return made;
}

result<void> function::check() const {
  const auto refused = [&](std::size_t i, std::string_view why) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("instruction {} of the program: {}", i, why)};
  };
  if (program_.empty()) {
    if (constants_.empty()) return {};
    return error{.code = errc::invalid_argument, .message = "constants without a program"};
  }
  if (inputs() > most_inputs || outputs() > most_outputs || size() > most_instructions ||
      constants_.size() > most_constants || program_[0] >> 32 != 0) {
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("the program has {} inputs, {} outputs, {} instructions and {} "
                               "constants; the most are {}, {}, {} and {}",
                               inputs(), outputs(), size(), constants_.size(), most_inputs,
                               most_outputs, most_instructions, most_constants)};
  }
  std::array<std::uint8_t, most_outputs> parts{};
  for (std::size_t i = 0; i < size(); ++i) {
    if ((program_[i + 1] & 0xff) >= opcode_count || program_[i + 1] >> 56 != 0) {
      return refused(i, fmt::format("there is no opcode {}", program_[i + 1] & 0xff));
    }
    const instruction one = at(i);
    const opcode_traits traits = traits_of(one.op);
    const std::uint16_t operands[] = {one.a, one.b, one.c};
    for (int k = 0; k < traits.operands; ++k) {
      if (operands[k] >= i) {
        return refused(
            i, fmt::format("{} uses value {}, which does not exist yet", traits.name, operands[k]));
      }
      if (at(operands[k]).op == opcode::output) {
        return refused(i, fmt::format("{} uses an output as a value", traits.name));
      }
    }
    if (one.op == opcode::input && (one.a >= inputs() || one.b > input_real)) {
      return refused(i, fmt::format("part {} of input {} of {}", one.b, one.a, inputs()));
    }
    if (one.op == opcode::constant && one.a >= constants_.size()) {
      return refused(i, fmt::format("constant {} of {}", one.a, constants_.size()));
    }
    if (one.op == opcode::index && one.a >= max_rank) {
      return refused(i, fmt::format("axis {}; a tensor has at most {}", one.a, max_rank));
    }
    if (one.op == opcode::cast && (one.b >= dtype_count || is_complex(static_cast<dtype>(one.b)))) {
      return refused(i, "a cast to a type that is not real");
    }
    if (one.op == opcode::output) {
      if (one.b >= outputs() || one.c > 1 || (parts[one.b] >> one.c & 1) != 0) {
        return refused(
            i, fmt::format("part {} of output {} of {}, or stored twice", one.c, one.b, outputs()));
      }
      parts[one.b] = static_cast<std::uint8_t>(parts[one.b] | 1U << one.c);
    }
  }
  for (int k = 0; k < outputs(); ++k) {
    if ((parts[static_cast<std::size_t>(k)] & 1) == 0) {
      return error{.code = errc::invalid_argument,
                   .message = fmt::format("the program does not store output {}", k)};
    }
  }
  for (const scalar& one : constants_) {
    if (one.what() == scalar::kind::complex) {
      return error{.code = errc::invalid_argument, .message = "a constant is complex"};
    }
  }
  return {};
}

void function::describe(description<function>& d) {
  d.value("program", &function::program_,
          "function: numbers of inputs and outputs, then the instructions");
  d.value("constants", &function::constants_, "constants of the function");
}

}  // namespace troupe::elementwise
