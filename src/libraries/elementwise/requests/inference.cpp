#include "libraries/elementwise/requests/inference.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::elementwise {
namespace {

error refused(errc code, std::size_t i, std::string_view why) {
  return {.code = code, .message = fmt::format("instruction {} of the program: {}", i, why)};
}

integers integers_of(const scalar& constant) noexcept {
  if (constant.what() == scalar::kind::unsigned_integer) return integers::unsigned_ones;
  return constant.as<std::int64_t>() < 0 ? integers::signed_ones : integers::either;
}

}  // namespace

inference::inference(const function& f, std::span<const dtype> inputs,
                     std::span<const dtype> outputs, std::uint32_t repeated,
                     std::uint32_t reduced) noexcept
    : f_(f), inputs_(inputs), outputs_(outputs), repeated_(repeated), reduced_(reduced) {
  for (const dtype one : inputs)
    widest_ = std::max(widest_, number_of(one));
}

result<void> inference::run() {
  for (std::size_t i = 0; i < f_.size(); ++i) {
    if (auto outcome = infer(i); !outcome) return outcome;
  }
  return {};
}

number inference::common(numbers operands) const noexcept {
  number most = number::boolean;
  bool constant = false;
  bool real_constant = false;
  for (const std::uint16_t n : operands) {
    const known& one = all_[n];
    constant = constant || one.constant;
    real_constant = real_constant || one.real_constant;
    if (!one.constant) most = std::max(most, one.result);
  }
  if (real_constant) return real(most);
  return constant ? std::max(most, number::i64) : most;
}

result<integers> inference::joined(std::size_t i, numbers operands) const {
  const opcode_traits traits = traits_of(f_.at(i).op);
  bool has_signed = false;
  bool has_unsigned = false;
  for (const std::uint16_t n : operands) {
    // Bits have no sign: ~1 is a mask of any type.
    if (all_[n].constant && traits.family == opcode_family::bits) continue;
    has_signed = has_signed || all_[n].which == integers::signed_ones;
    has_unsigned = has_unsigned || all_[n].which == integers::unsigned_ones;
  }
  if (has_signed && has_unsigned) {
    return refused(errc::type_mismatch, i,
                   fmt::format("{} takes u64 and integers that may be negative, which have no "
                               "common type; cast one of them",
                               traits.name));
  }
  if (has_unsigned) return integers::unsigned_ones;
  return has_signed ? integers::signed_ones : integers::either;
}

result<void> inference::infer_source(std::size_t i, const instruction& one, known& made) const {
  switch (one.op) {
    case opcode::input: {
      const dtype type = inputs_[one.a];
      if (one.b == input_number && is_complex(type)) {
        return refused(
            errc::type_mismatch, i,
            fmt::format("inputs[{}] is {}, and the function takes it as a real number; take it by "
                        "complex(), or pass its real part",
                        one.a, to_string(type)));
      }
      if (one.b == input_imaginary && !is_complex(type)) {
        return refused(
            errc::type_mismatch, i,
            fmt::format("the imaginary part of inputs[{}], which is {}", one.a, to_string(type)));
      }
      made.result = number_of(type);
      made.which = integers_of(type);
      made.uniform = (repeated_ >> one.a & 1) != 0;
      return {};
    }
    case opcode::constant: {
      const scalar& constant = f_.constants()[one.a];
      made.constant = true;
      made.real_constant = constant.what() == scalar::kind::real;
      made.result = made.real_constant ? number::f32 : number::i64;
      if (!made.real_constant) made.which = integers_of(constant);
      made.uniform = true;
      return {};
    }
    default:
      made.result = number::i64;
      made.uniform = one.op == opcode::row_length;
      return {};
  }
}

result<void> inference::infer_output(std::size_t i, const instruction& one, known& made) const {
  const dtype type = outputs_[one.b];
  if (one.c == 1 && !is_complex(type)) {
    return refused(
        errc::type_mismatch, i,
        fmt::format("outputs[{}] takes an imaginary part, and is {}", one.b, to_string(type)));
  }
  if ((reduced_ >> one.b & 1) != 0 && !all_[one.a].uniform) {
    return refused(errc::invalid_argument, i,
                   fmt::format("outputs[{}] has one element for a row, and takes a value that is "
                               "not the same for the whole row",
                               one.b));
  }
  made.type = number_of(type);
  return {};
}

/// Of what computes in i64: which integers it takes, and which it gives.
result<void> inference::infer_integers(std::size_t i, const instruction& one, known& made) const {
  const std::uint16_t all[] = {one.a, one.b, one.c};
  numbers operands(all, static_cast<std::size_t>(traits_of(one.op).operands));
  const bool shifts = one.op == opcode::shift_left || one.op == opcode::shift_right;
  if (one.op == opcode::philox) return {};
  if (one.op == opcode::select) operands = operands.subspan(1);
  if (shifts) operands = operands.first(1);
  auto which = joined(i, operands);
  if (!which) return std::move(which).error();
  made.is_unsigned = *which == integers::unsigned_ones;
  if (made.result != number::i64) return {};
  switch (one.op) {
    case opcode::row_argmin:
    case opcode::row_argmax:
      return {};
    case opcode::quotient:
    case opcode::remainder:
    case opcode::minimum:
    case opcode::maximum:
    case opcode::fmin:
    case opcode::fmax:
    case opcode::shift_right:
    case opcode::select:
    case opcode::row_minimum:
    case opcode::row_maximum:
      made.which = *which;
      return {};
    default:  // may wrap
      made.which = made.is_unsigned ? integers::unsigned_ones : integers::signed_ones;
      return {};
  }
}

result<void> inference::infer(std::size_t i) {
  const instruction one = f_.at(i);
  const opcode_traits traits = traits_of(one.op);
  known& made = all_[i] = {};
  const std::uint16_t all[] = {one.a, one.b, one.c};
  const numbers operands(all, static_cast<std::size_t>(traits.operands));
  made.uniform = std::ranges::all_of(operands, [&](std::uint16_t n) { return all_[n].uniform; });
  switch (traits.family) {
    case opcode_family::source:
      return infer_source(i, one, made);
    case opcode_family::any:
      made.result = made.type = std::max(common(operands), number::i64);
      break;
    case opcode_family::real:
      made.result = made.type = real(common(operands));
      break;
    case opcode_family::predicate:
      made.type = real(common(operands));
      made.result = number::boolean;
      break;
    case opcode_family::comparison:
      made.type = std::max(common(operands), number::i64);
      made.result = number::boolean;
      break;
    case opcode_family::bits:
    case opcode_family::integer:
      made.type = common(operands);
      if (made.type > number::i64) {
        return refused(errc::type_mismatch, i,
                       fmt::format("{} takes integers, and an operand is real", traits.name));
      }
      if (traits.family == opcode_family::integer) made.type = number::i64;
      made.result = made.type;
      break;
    case opcode_family::cast:
      made.type = common(operands);
      made.result = number_of(static_cast<dtype>(one.b));
      made.which = integers_of(static_cast<dtype>(one.b));
      return {};
    case opcode_family::select:
      made.result = made.type = common(operands.subspan(1));
      break;
    case opcode_family::row:
      made.result = made.type = std::max(common(operands), number::i64);
      made.uniform = true;
      break;
    case opcode_family::row_index:
      made.type = std::max(common(operands), number::i64);
      made.result = number::i64;
      made.uniform = true;
      break;
    case opcode_family::output:
      return infer_output(i, one, made);
  }
  return made.type == number::i64 ? infer_integers(i, one, made) : result<void>();
}

}  // namespace troupe::elementwise
