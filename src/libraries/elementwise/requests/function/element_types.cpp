#include "libraries/elementwise/requests/function/element_types.hpp"

#include <algorithm>
#include <array>
#include <utility>

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

// Of u64 and what may be negative there is none, and no request takes both.
dtype common_integer(dtype a, dtype b) noexcept {
  if (a == dtype::u64 || b == dtype::u64) return dtype::u64;
  const int a_bytes = static_cast<int>(size_of(a));
  const int b_bytes = static_cast<int>(size_of(b));
  if (is_signed(a) == is_signed(b)) return a_bytes < b_bytes ? b : a;
  const int without_sign = is_signed(a) ? b_bytes : a_bytes;
  return signed_of(std::max({a_bytes, b_bytes, 2 * without_sign}));
}

}  // namespace

dtype common_type(dtype a, dtype b) noexcept {
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

namespace {

/// The type that reals have which are made of constants, conditions or integers alone.
dtype widest_of(std::span<const dtype> inputs) noexcept {
  std::optional<dtype> widest;
  for (const dtype one : inputs) {
    if (!is_integer(one) && one != dtype::boolean)
      widest = widest ? common_type(*widest, part_of(one)) : part_of(one);
  }
  return widest.value_or(dtype::f32);
}

/// The kinds of all values of a function.
class inferred_kinds {
 public:
  inferred_kinds(const function& f, std::span<const dtype> inputs, std::uint32_t repeated)
      : widest_(widest_of(inputs)), all_(f.size()) {
    for (std::size_t i = 0; i < f.size(); ++i) {
      const instruction one = f.at(i);
      if (one.op == opcode::output) continue;
      if (one.op == opcode::constant) {
        all_[i].own = type_of(f.constants()[one.a]);
      } else if (one.op == opcode::input) {
        all_[i] = {.type = part_of(inputs[one.a]), .same_for_row = (repeated >> one.a & 1) != 0};
      } else {
        const std::uint16_t places[] = {one.a, one.b, one.c};
        std::array<value_kind, 3> operands;
        const auto count = static_cast<std::size_t>(traits_of(one.op).operands);
        for (std::size_t k = 0; k < count; ++k)
          operands[k] = all_[places[k]];
        const auto used = std::span(operands).first(count);
        all_[i].type = result_of(one, used);
        const bool counts = one.op == opcode::index || one.op == opcode::position;
        all_[i].same_for_row =
            is_row(one.op) ||
            (!counts && std::ranges::all_of(used, [](auto& k) { return k.same_for_row; }));
      }
    }
  }
  [[nodiscard]] std::vector<value_kind> all() && { return std::move(all_); }

 private:
  [[nodiscard]] dtype type_of(const scalar& constant) const noexcept {
    if (constant.what() == scalar::kind::real) return widest_;
    return constant.what() == scalar::kind::integer ? dtype::i64 : dtype::u64;
  }
  [[nodiscard]] dtype common_of(std::span<const value_kind> operands) const noexcept;
  [[nodiscard]] dtype result_of(const instruction& one,
                                std::span<const value_kind> operands) const noexcept;

  dtype widest_;
  std::vector<value_kind> all_;
};

dtype inferred_kinds::common_of(std::span<const value_kind> operands) const noexcept {
  std::optional<dtype> made;
  std::optional<dtype> of_constants;
  for (const value_kind& one : operands) {
    auto& to = one.type ? made : of_constants;
    to = to ? common_type(*to, one.settled()) : one.settled();
  }
  if (!made) return of_constants.value_or(dtype::i64);
  if (!of_constants || is_float(*made)) return *made;
  return is_float(*of_constants) || *made == dtype::boolean ? *of_constants : *made;
}

dtype number(dtype type) noexcept { return type == dtype::boolean ? dtype::i64 : type; }

dtype inferred_kinds::result_of(const instruction& one,
                                std::span<const value_kind> operands) const noexcept {
  switch (traits_of(one.op).family) {
    case opcode_family::any:
      return number(common_of(operands));
    case opcode_family::real: {
      const dtype type = common_of(operands);
      return is_float(type) ? type : widest_;
    }
    case opcode_family::predicate:
    case opcode_family::comparison:
      return dtype::boolean;
    case opcode_family::bits:
      return common_of(operands);
    case opcode_family::integer:
      if (one.op == opcode::philox) return dtype::i64;
      if (operands[0].settled() == dtype::u64) return dtype::u64;
      return number(common_of(operands));
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

std::vector<value_kind> kinds_of_values(const function& f, std::span<const dtype> inputs,
                                        std::uint32_t repeated) {
  return inferred_kinds(f, inputs, repeated).all();
}

}  // namespace troupe::elementwise
