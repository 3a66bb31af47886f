#pragma once

#include <troupe/elementwise/function.hpp>
#include <troupe/tensors/operators.hpp>

#include <span>

/// The computations of steps, as functions of elementwise. For complex tensors they compute with
/// both parts.
namespace troupe::tensors {

/// x, in whatever type it is stored.
[[nodiscard]] elementwise::function as_it_is(bool complex);
/// alpha · x0 · x1 ⋯ + beta · c, of so many factors; c is the last input, if there is one.
[[nodiscard]] elementwise::function scaled_product(int factors, bool complex, const scalar& alpha,
                                                   const scalar* beta);
/// The same with the product summed over a row.
[[nodiscard]] elementwise::function scaled_sum(int factors, bool complex, const scalar& alpha,
                                               const scalar* beta);
/// alpha · op(x over a row) + beta · c.
[[nodiscard]] elementwise::function scaled_reduction(reduction op, bool complex,
                                                     const scalar& alpha, const scalar* beta);

/// An operand of an elementwise request: factor · op(x).
struct scaled_operand {
  scalar factor;
  unary_operator op;
};
/// Combines the first two, then that with the third, by these operators, one fewer than operands.
[[nodiscard]] elementwise::function combined(std::span<const scaled_operand> operands,
                                             std::span<const binary_operator> between,
                                             bool complex);

}  // namespace troupe::tensors
