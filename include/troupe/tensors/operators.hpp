#pragma once

#include <cstdint>

namespace troupe::tensors {

/// The function applied to each element of an operand. Complex numbers have `identity`, `negate`,
/// `conjugate`, `square` and `reciprocal`.
enum class unary_operator : std::uint8_t {
  identity,
  negate,
  conjugate,  ///< for a real number itself
  square,
  reciprocal,
  absolute,
  square_root,
  exponential,
  logarithm,
  sine,
  cosine,
  tangent,
  hyperbolic_tangent,
  sigmoid,
  relu,
  ceil,
  floor,
};

/// The function of two elements. Complex numbers have no order: they have `add`, `subtract` and
/// `multiply`.
enum class binary_operator : std::uint8_t {
  add,
  subtract,
  multiply,
  minimum,  ///< NaN if either is
  maximum,
};

/// The function of many elements. Complex numbers are only added.
enum class reduction : std::uint8_t {
  sum,      ///< 0 if there are none
  maximum,  ///< NaN if there is one; −infinity if there are none
  minimum,  ///< NaN if there is one; infinity if there are none
  product,  ///< 1 if there are none
};

}  // namespace troupe::tensors
