#include "libraries/elementwise/requests/function/fold.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace troupe::elementwise {
namespace {

// Wraps around, as kernels do.
std::optional<scalar> fold_integers(opcode op, std::span<const scalar> operands) noexcept {
  const auto a = operands[0].as<std::uint64_t>();
  const auto b = operands.size() > 1 ? operands[1].as<std::uint64_t>() : 0;
  switch (op) {
    case opcode::negative:
      return static_cast<std::int64_t>(0 - a);
    case opcode::add:
      return static_cast<std::int64_t>(a + b);
    case opcode::subtract:
      return static_cast<std::int64_t>(a - b);
    case opcode::multiply:
      return static_cast<std::int64_t>(a * b);
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
