// Which element types outputs get that nobody has chosen.
#include <troupe/elementwise/function.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace troupe::elementwise {
namespace {

constexpr bool is_signed(dtype type) noexcept {
  return type == dtype::i8 || type == dtype::i16 || type == dtype::i32 || type == dtype::i64;
}
dtype signed_of(int bytes) noexcept {
  switch (bytes) {
    case 1:
      return dtype::i8;
    case 2:
      return dtype::i16;
    case 4:
      return dtype::i32;
    default:
      return dtype::i64;
  }
}

dtype common_integer(dtype a, dtype b) noexcept {
  const int a_bytes = static_cast<int>(size_of(a));
  const int b_bytes = static_cast<int>(size_of(b));
  if (is_signed(a) == is_signed(b)) return a_bytes < b_bytes ? b : a;
  const int without_sign = is_signed(a) ? b_bytes : a_bytes;
  return signed_of(std::max({a_bytes, b_bytes, 2 * without_sign}));
}

dtype common(dtype a, dtype b) noexcept {
  if (a == b || b == dtype::boolean) return a;
  if (a == dtype::boolean) return b;
  if (is_integer(a) && is_integer(b)) return common_integer(a, b);
  if (is_integer(a)) return b;
  if (is_integer(b)) return a;
  return a == dtype::f64 || b == dtype::f64 ? dtype::f64 : dtype::f32;
}

dtype part_of(dtype type) noexcept {
  if (type == dtype::c64) return dtype::f32;
  return type == dtype::c128 ? dtype::f64 : type;
}

/// A value's type: none for a constant, which takes others'.
struct kind {
  std::optional<dtype> type;
  bool real_constant = false;
  bool same_for_row = true;

  [[nodiscard]] dtype settled() const noexcept {
    return type.value_or(real_constant ? dtype::f32 : dtype::i64);
  }
};

dtype common_of(std::span<const kind> operands) noexcept {
  std::optional<dtype> made;
  bool real = false;
  bool integer = false;
  for (const kind& one : operands) {
    if (one.type) {
      made = made ? common(*made, *one.type) : *one.type;
    } else {
      (one.real_constant ? real : integer) = true;
    }
  }
  if (!made) return real ? dtype::f32 : dtype::i64;
  if (real && !is_float(*made)) return dtype::f32;
  return integer && *made == dtype::boolean ? dtype::i64 : *made;
}

dtype number(dtype type) noexcept { return type == dtype::boolean ? dtype::i64 : type; }

dtype result_of(const instruction& one, std::span<const kind> operands) noexcept {
  switch (traits_of(one.op).family) {
    case opcode_family::any:
      return number(common_of(operands));
    case opcode_family::real: {
      const dtype type = common_of(operands);
      return is_float(type) ? type : dtype::f32;
    }
    case opcode_family::predicate:
    case opcode_family::comparison:
      return dtype::boolean;
    case opcode_family::bits:
      return common_of(operands);
    case opcode_family::integer:
      return one.op == opcode::philox ? dtype::i64 : number(common_of(operands));
    case opcode_family::cast:
      return static_cast<dtype>(one.b);
    case opcode_family::select:
      return common_of(operands.subspan(1));
    case opcode_family::row: {
      const dtype type = number(common_of(operands));
      const bool adds = one.op == opcode::row_sum || one.op == opcode::row_product;
      return adds && is_integer(type) && type != dtype::u64 ? dtype::i64 : type;
    }
    default:
      return dtype::i64;
  }
}

}  // namespace

result<std::vector<output_kind>> function::outputs_for(std::span<const dtype> inputs,
                                                       std::uint32_t repeated) const {
  if (inputs.size() != static_cast<std::size_t>(this->inputs())) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("the function has {} inputs, and the types of {} are given",
                                        this->inputs(), inputs.size())};
  }
  std::vector<output_kind> made(static_cast<std::size_t>(outputs()));
  std::vector<kind> all(size());
  for (std::size_t i = 0; i < size(); ++i) {
    const instruction one = at(i);
    if (one.op == opcode::output) {
      output_kind& to = made[one.b];
      const dtype type = all[one.a].settled();
      to.same_for_row = all[one.a].same_for_row && (one.c == 0 || to.same_for_row);
      to.type = one.c == 0 ? type : common(part_of(to.type), type);
      if (one.c == 1) to.type = to.type == dtype::f64 ? dtype::c128 : dtype::c64;
    } else if (one.op == opcode::constant) {
      all[i].real_constant = constants_[one.a].what() == scalar::kind::real;
    } else if (one.op == opcode::input) {
      all[i] = {.type = part_of(inputs[one.a]), .same_for_row = (repeated >> one.a & 1) != 0};
    } else {
      const std::uint16_t places[] = {one.a, one.b, one.c};
      std::array<kind, 3> operands;
      const auto count = static_cast<std::size_t>(traits_of(one.op).operands);
      for (std::size_t k = 0; k < count; ++k)
        operands[k] = all[places[k]];
      const auto used = std::span(operands).first(count);
      all[i].type = result_of(one, used);
      const bool counts = one.op == opcode::index || one.op == opcode::position;
      all[i].same_for_row =
          is_row(one.op) ||
          (!counts && std::ranges::all_of(used, [](auto& k) { return k.same_for_row; }));
    }
  }
  return made;
}

}  // namespace troupe::elementwise
