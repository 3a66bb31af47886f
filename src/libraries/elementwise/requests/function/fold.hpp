#pragma once

#include <troupe/elementwise/opcode.hpp>
#include <troupe/tensor/scalar.hpp>

#include <optional>
#include <span>

namespace troupe::elementwise {

/// An operation on constants, in f64, or in i64 where all are integers and the result is one;
/// nothing for operations that stay as they are.
[[nodiscard]] std::optional<scalar> fold(opcode op, std::span<const scalar> operands) noexcept;

}  // namespace troupe::elementwise
