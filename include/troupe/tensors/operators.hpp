#pragma once

#include <cstdint>

namespace troupe::tensors {

/// What is applied to each element of an operand. Of complex numbers there are `identity`,
/// `negate`, `conjugate`, `square` and `reciprocal`.
enum class unary_operator : std::uint8_t {
  identity,
  negate,
  conjugate,  ///< of a real number itself
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

/// What makes one element of two. Complex numbers have no order: for them there are `add`,
/// `subtract` and `multiply`.
enum class binary_operator : std::uint8_t {
  add,
  subtract,
  multiply,
  minimum,  ///< NaN if either is
  maximum,
};

/// What makes one element of many. Complex numbers are only added.
enum class reduction : std::uint8_t {
  sum,      ///< of none, 0
  maximum,  ///< NaN if there is one; of none, −infinity
  minimum,  ///< NaN if there is one; of none, infinity
  product,  ///< of none, 1
};

}  // namespace troupe::tensors
