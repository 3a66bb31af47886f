#include "libraries/elementwise/cuda/compiled/program_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::cuda {

using elementwise::number;
using elementwise::opcode;

namespace {

/// True if the opcode has a version with 22 bits of precision.
bool has_fast(opcode op) {
  switch (op) {
    case opcode::divide:
    case opcode::exp:
    case opcode::exp2:
    case opcode::rsqrt:
    case opcode::sqrt:
    case opcode::tanh:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string_view name_of(number type) noexcept {
  constexpr std::string_view names[] = {"bool", "i64", "float", "double"};
  return names[static_cast<int>(type)];
}
std::string_view element_name(dtype type) noexcept {
  constexpr std::string_view names[dtype_count] = {
      "double", "float",    "f16",         "bf16",          "e4m3",  "e5m2",
      "c64",    "c128",     "signed char", "unsigned char", "short", "unsigned short",
      "int",    "unsigned", "i64",         "u64",           "bool"};
  return names[static_cast<int>(type)];
}

void program_writer::begin_text() {
  line("#include \"libraries/elementwise/cuda/device_code.cuh\"");
  line("using namespace troupe::elementwise::gpu;");
}

std::vector<std::size_t> program_writer::operands_of(const numbers& list) const {
  std::vector<std::size_t> found;
  for (const std::uint16_t n : list) {
    const opcode op = code_[n].op;
    if (op != opcode::input && op != opcode::output && op != opcode::index &&
        op != opcode::position)
      continue;
    const std::size_t k = operand_of(code_[n]);
    if (std::ranges::find(found, k) == found.end()) found.push_back(k);
  }
  return found;
}

std::string program_writer::value(std::uint16_t n) const {
  if (code_[n].op == opcode::constant) {
    std::size_t place = 0;
    for (std::size_t i = 0; i < n; ++i)
      place += code_[i].op == opcode::constant ? std::size_t{1} : 0;
    return fmt::format("cell_as<{}>(p.constants[{}])", name_of(code_[n].type), place);
  }
  return fmt::format("{}{}", is_element_[n] ? "v" : "u", n);
}

namespace {

std::string_view name_of(opcode op) noexcept {
  if (op == elementwise::unsigned_quotient) return "unsigned_quotient";
  if (op == elementwise::unsigned_remainder) return "unsigned_remainder";
  if (op == elementwise::unsigned_shift_right) return "unsigned_shift_right";
  return elementwise::traits_of(op).name;
}

}  // namespace

std::string program_writer::expression(const typed_instruction& one) const {
  if (one.op == elementwise::convert) {
    constexpr std::string_view names[] = {"to_boolean", "to_i64", "to_f32", "to_f64"};
    return fmt::format("{}({})", names[static_cast<int>(one.result)], value(one.a));
  }
  if (one.op == elementwise::round_to_odd) return fmt::format("rounded_to_odd({})", value(one.a));
  if (one.op == elementwise::unsigned_to_real) {
    return fmt::format("unsigned_to_{}({})", one.result == number::f32 ? "f32" : "f64",
                       value(one.a));
  }
  const auto type = static_cast<dtype>(one.b);
  if (one.op == elementwise::to_integer) {
    const bool is_signed =
        type == dtype::i8 || type == dtype::i16 || type == dtype::i32 || type == dtype::i64;
    return fmt::format("to_integer({}, {}, {})", value(one.a), 8 * size_of(type), is_signed);
  }
  if (one.op == opcode::cast) {
    return fmt::format("loaded(stored<{}>({}))", element_name(type), value(one.a));
  }
  if (one.op == opcode::row_length) return "(i64)p.row_length";
  const bool fast = one.fast && one.type == number::f32 && has_fast(one.op);
  std::string text = fmt::format("op_{}{}(", name_of(one.op), fast ? "_fast" : "");
  const std::uint16_t operands[] = {one.a, one.b, one.c};
  for (int k = 0; k < elementwise::value_operands(one.op); ++k)
    text += (k == 0 ? "" : ", ") + value(operands[k]);
  return text + ")";
}

void program_writer::offsets(const std::vector<std::size_t>& operands, std::string_view count,
                             int first, int loops, std::string_view from, std::string_view to) {
  for (const std::size_t k : operands) {
    line(from.empty() ? fmt::format("long {}{} = (long)p.operands[{}].address;", to, k, k)
                      : fmt::format("long {}{} = {}{};", to, k, from, k));
  }
  if (loops == 0 || operands.empty()) return;
  line(fmt::format("{{ step_number rest = {};", count));
  for (int d = first + loops - 1; d >= first; --d) {
    if (d > first) {
      line(fmt::format(
          "{{ const step_number q = divided(rest, p.loops[{0}]); const long at = rest - q * "
          "(step_number)p.loops[{0}].extent; rest = q;",
          d));
    } else {
      line("{ const long at = rest;");
    }
    for (const std::size_t k : operands)
      line(fmt::format("{}{} += at * p.operands[{}].strides[{}];", to, k, k, d));
    line("}");
  }
  line("}");
}

void program_writer::loads(const std::vector<std::size_t>& operands) {
  for (const std::size_t k : operands) {
    if (k >= r_.inputs.size()) continue;
    line(fmt::format("const vector<{0}, {1}> x{2} = load_vector<{0}, {1}>((const char*)o{2});",
                     element_name(type_of(k)), width(k), k));
  }
}

std::vector<std::size_t> program_writer::declare_stores(const numbers& list) {
  std::vector<std::size_t> stores;
  for (const std::uint16_t n : list) {
    const std::size_t k = code_[n].op == opcode::output ? operand_of(code_[n]) : SIZE_MAX;
    if (k == SIZE_MAX || std::ranges::find(stores, k) != stores.end()) continue;
    stores.push_back(k);
    line(fmt::format("vector<{}, {}> y{};", element_name(type_of(k)), width(k), k));
  }
  return stores;
}

void program_writer::compute(const numbers& list) {
  for (const std::uint16_t n : list) {
    const typed_instruction& one = code_[n];
    switch (one.op) {
      case opcode::constant:
        break;
      case opcode::input: {
        const std::string part = is_complex(type_of(one.a)) ? fmt::format(".part[{}]", one.b) : "";
        line(fmt::format("const {} v{} = loaded(x{}{}.at[{}]{});", name_of(one.result), n, one.a,
                         suffix(one.a), width(one.a) > 1 ? "j" : "0", part));
        break;
      }
      case opcode::index:
      case opcode::position: {
        const std::size_t k = operand_of(one);
        line(fmt::format("const i64 v{} = o{}{} + j * {};", n, k, suffix(k),
                         p_.vector > 1 ? p_.steps[k] : 0));
        break;
      }
      case opcode::output: {
        const std::size_t k = operand_of(one);
        const bool pair = is_complex(type_of(k));
        const std::string_view stored =
            pair ? (type_of(k) == dtype::c64 ? "float" : "double") : element_name(type_of(k));
        line(fmt::format("y{}.at[{}]{} = stored<{}>({});", k, width(k) > 1 ? "j" : "0",
                         pair ? fmt::format(".part[{}]", one.c) : "", stored, value(one.a)));
        break;
      }
      default:
        line(fmt::format("const {} v{} = {};", name_of(one.result), n, expression(one)));
        break;
    }
  }
}

}  // namespace troupe::cuda
