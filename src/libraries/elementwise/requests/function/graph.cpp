#include "libraries/elementwise/requests/function/graph.hpp"

#include "libraries/elementwise/requests/function/fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>

namespace troupe::elementwise::detail {
namespace {

thread_local graph* building = nullptr;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t more) noexcept {
  hash = (hash ^ more) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

// True for the same bits: +0 and −0 differ, and NaN equals itself.
bool same(const scalar& a, const scalar& b) noexcept {
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): every byte of a scalar is a member's
  return std::memcmp(&a, &b, sizeof(scalar)) == 0;
}

}  // namespace

void graph::refuse(std::string message) {
  throw failure(
      {.code = errc::invalid_argument, .message = "elementwise function: " + std::move(message)});
}

graph::graph(int inputs)
    : id_([] {
        static std::atomic<std::uint64_t> last{0};
        return last.fetch_add(1, std::memory_order_relaxed) + 1;
      }()),
      outer_(std::exchange(building, this)),
      inputs_(inputs) {
  if (inputs < 0 || inputs > function::most_inputs) {
    building = outer_;
    refuse(fmt::format("{} inputs; {} is the most", inputs, function::most_inputs));
  }
}

graph::~graph() { building = outer_; }

graph& graph::current() {
  if (building == nullptr)
    refuse("its values exist only while it is built, in the callable that builds it");
  return *building;
}

std::uint64_t graph::shape_of(const instruction& what) const noexcept {
  const opcode_traits traits = traits_of(what.op);
  std::uint64_t hash = mixed(0, static_cast<std::uint64_t>(what.op));
  if (what.op == opcode::constant) return hash;
  const std::uint16_t operands[] = {what.a, what.b, what.c};
  for (int i = 0; i < 3; ++i)
    hash = mixed(hash, i < traits.operands ? nodes_[operands[i]].shape : operands[i]);
  return hash;
}

std::uint16_t graph::add(instruction what) {
  if (traits_of(what.op).commutes) {
    const auto rank = [&](std::uint16_t n) { return std::pair(nodes_[n].shape, n); };
    if (rank(what.b) < rank(what.a)) std::swap(what.a, what.b);
  }
  const auto [place, is_new] = known_.try_emplace({what.op, what.a, what.b, what.c},
                                                  static_cast<std::uint16_t>(nodes_.size()));
  if (!is_new) return place->second;
  if (nodes_.size() == most_nodes) {
    refuse(fmt::format("{} expressions are more than there may be", most_nodes));
  }
  nodes_.push_back({what, shape_of(what)});
  return place->second;
}

std::uint16_t graph::node_of(const value& v) {
  if (v.graph_ == id_) return v.node_;
  if (v.graph_ != 0) refuse("an operand is a value of another function");
  // A constant without a sign is u64: one that i64 holds, too, takes the type of others.
  scalar number = v.number_;
  if (number.what() == scalar::kind::unsigned_integer && number.as<std::int64_t>() >= 0)
    number = number.as<std::int64_t>();
  auto found =
      std::ranges::find_if(constants_, [&](const scalar& one) { return same(one, number); });
  if (found == constants_.end()) found = constants_.insert(found, number);
  return add({opcode::constant, static_cast<std::uint16_t>(found - constants_.begin()), 0, 0});
}

value graph::apply(opcode op, std::span<const value> operands) {
  const opcode_traits traits = traits_of(op);
  if (traits.family == opcode_family::source || traits.family == opcode_family::output ||
      traits.family == opcode_family::cast ||
      traits.operands != static_cast<int>(operands.size())) {
    refuse(fmt::format("{} is not an operation on {} values", traits.name, operands.size()));
  }
  if (std::ranges::all_of(operands, is_constant)) {
    scalar numbers[3];
    for (std::size_t i = 0; i < operands.size(); ++i)
      numbers[i] = operands[i].number_;
    if (const auto known = fold(op, std::span(numbers).first(operands.size()))) {
      return constant(*known);
    }
  }
  graph& g = current();
  instruction what{.op = op};
  std::uint16_t* const places[] = {&what.a, &what.b, &what.c};
  for (std::size_t i = 0; i < operands.size(); ++i)
    *places[i] = g.node_of(operands[i]);
  return g.made(g.add(what));
}

std::vector<value> graph::replay(const function& f, std::span<const result_value> inputs) {
  if (inputs.size() != static_cast<std::size_t>(f.inputs()))
    refuse(fmt::format("a function of {} inputs is given {}", f.inputs(), inputs.size()));
  std::vector<value> values;
  for (std::size_t i = 0; i < f.size(); ++i) {
    const instruction one = f.at(i);
    const opcode_traits traits = traits_of(one.op);
    if (one.op == opcode::output) {
      values.push_back(values[one.a]);
    } else if (one.op == opcode::input) {
      const result_value& from = inputs[one.a];
      if (one.b == input_number && from.imaginary) {
        refuse(
            fmt::format("input {} is a complex number, and is taken as a real one; complex() takes "
                        "an input as a complex number",
                        one.a));
      }
      // The real part of a number is itself, and of an input that input's.
      const bool is_input = !is_constant(from.real) && is_number_input(at(from.real));
      if (one.b == input_number || from.imaginary || (one.b == input_real && !is_input)) {
        values.push_back(one.b == input_imaginary ? *from.imaginary : from.real);
      } else {
        const complex_value parts = complex(from.real);
        values.push_back(one.b == input_real ? parts.real : parts.imaginary);
      }
    } else if (one.op == opcode::constant) {
      values.push_back(constant(f.constants()[one.a]));
    } else if (one.op == opcode::cast) {
      values.push_back(cast(values[one.a], static_cast<dtype>(one.b)));
    } else if (traits.family == opcode_family::source) {
      values.push_back(source(one.op, one.a, one.b));
    } else {
      // A program from elsewhere may say anything of operands that the opcode does not have.
      const std::uint16_t places[] = {one.a, one.b, one.c};
      value operands[] = {0, 0, 0};
      const auto count = static_cast<std::size_t>(traits.operands);
      for (std::size_t k = 0; k < count; ++k)
        operands[k] = values[places[k]];
      values.push_back(apply(one.op, std::span(operands).first(count)));
    }
  }
  return values;
}

function graph::finish(const std::vector<result_value>& outputs) {
  if (outputs.size() > static_cast<std::size_t>(function::most_outputs)) {
    refuse(fmt::format("{} outputs; {} is the most", outputs.size(), function::most_outputs));
  }
  // Outputs that are constants become nodes before anything is counted.
  std::vector<std::pair<std::uint16_t, std::optional<std::uint16_t>>> wanted;
  for (const result_value& one : outputs) {
    wanted.emplace_back(node_of(one.real), std::nullopt);
    if (one.imaginary) wanted.back().second = node_of(*one.imaginary);
  }
  function made;
  made.program_.push_back(inputs_ | static_cast<std::int64_t>(outputs.size()) << 16);
  std::vector<int> numbers(nodes_.size(), -1);
  std::vector<int> constants(constants_.size(), -1);
  const auto append = [&](const instruction& one) {
    made.program_.push_back(static_cast<std::int64_t>(one.op) | std::int64_t{one.a} << 8 |
                            std::int64_t{one.b} << 24 | std::int64_t{one.c} << 40);
    if (made.size() > function::most_instructions) {
      refuse(fmt::format("more than {} instructions", function::most_instructions));
    }
    return static_cast<int>(made.size()) - 1;
  };
  // In the order in which outputs need them, so that it is the same however they were written.
  std::vector<std::uint16_t> stack;
  const auto number_of = [&](std::uint16_t root) {
    stack.push_back(root);
    while (!stack.empty()) {
      const std::uint16_t n = stack.back();
      instruction one = nodes_[n].what;
      std::uint16_t* const places[] = {&one.a, &one.b, &one.c};
      const auto operands = static_cast<std::size_t>(traits_of(one.op).operands);
      const auto missing = std::find_if(places, places + operands,
                                        [&](const std::uint16_t* p) { return numbers[*p] < 0; });
      if (numbers[n] < 0 && missing != places + operands) {
        stack.push_back(**missing);
        continue;
      }
      stack.pop_back();
      if (numbers[n] >= 0) continue;
      for (std::size_t i = 0; i < operands; ++i)
        *places[i] = static_cast<std::uint16_t>(numbers[*places[i]]);
      if (one.op == opcode::constant) {
        int& number = constants[one.a];
        if (number < 0) {
          number = static_cast<int>(made.constants_.size());
          made.constants_.push_back(constants_[one.a]);
          if (made.constants_.size() > function::most_constants) {
            refuse(fmt::format("more than {} constants", function::most_constants));
          }
        }
        one.a = static_cast<std::uint16_t>(number);
      }
      numbers[n] = append(one);
    }
    return static_cast<std::uint16_t>(numbers[root]);
  };
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto k = static_cast<std::uint16_t>(i);
    const std::uint16_t real = number_of(wanted[i].first);
    if (!wanted[i].second) {
      append({opcode::output, real, k, 0});
      continue;
    }
    const std::uint16_t imaginary = number_of(*wanted[i].second);
    append({opcode::output, real, k, 0});
    append({opcode::output, imaginary, k, 1});
  }
  return made;
}

}  // namespace troupe::elementwise::detail
