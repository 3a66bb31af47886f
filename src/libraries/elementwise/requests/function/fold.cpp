#include "libraries/elementwise/requests/function/fold.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace troupe::elementwise {
namespace {

// Wraps around, as kernels do; of u64 where one is.
std::optional<scalar> fold_integers(opcode op, std::span<const scalar> operands) noexcept {
  const auto a = operands[0].as<std::uint64_t>();
  const auto b = operands.size() > 1 ? operands[1].as<std::uint64_t>() : 0;
  const bool is_unsigned = std::ranges::any_of(
      operands, [](const scalar& one) { return one.what() == scalar::kind::unsigned_integer; });
  const auto folded = [&](std::uint64_t bits) {
    return is_unsigned ? scalar(bits) : scalar(static_cast<std::int64_t>(bits));
  };
  switch (op) {
    case opcode::negative:
      return folded(0 - a);
    case opcode::add:
      return folded(a + b);
    case opcode::subtract:
      return folded(a - b);
    case opcode::multiply:
      return folded(a * b);
    default:
      return std::nullopt;
  }
}

std::optional<scalar> fold_real(opcode op, double a, double b) noexcept {
  switch (op) {
    case opcode::negative:
      return -a;
    case opcode::absolute:
      return std::fabs(a);
    case opcode::add:
      return a + b;
    case opcode::subtract:
      return a - b;
    case opcode::multiply:
      return a * b;
    case opcode::divide:
      return a / b;
    case opcode::sqrt:
      return std::sqrt(a);
    case opcode::exp:
      return std::exp(a);
    case opcode::log:
      return std::log(a);
    case opcode::power:
      return std::pow(a, b);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<scalar> fold(opcode op, std::span<const scalar> operands) noexcept {
  using kind = scalar::kind;
  const bool integers = std::ranges::all_of(operands, [](const scalar& one) {
    return one.what() == kind::integer || one.what() == kind::unsigned_integer;
  });
  if (integers && traits_of(op).family == opcode_family::any) return fold_integers(op, operands);
  return fold_real(op, operands[0].as<double>(),
                   operands.size() > 1 ? operands[1].as<double>() : 0.0);
}

}  // namespace troupe::elementwise
