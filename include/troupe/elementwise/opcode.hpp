#pragma once

#include <cstdint>
#include <string_view>

namespace troupe::elementwise {

/// The instructions of a program. The values are part of the wire format.
///
/// An instruction computes in f32, f64, i64 or boolean: the common type of its operands (see
/// `function`). "real" below means that integers are converted to f32 first.
enum class opcode : std::uint8_t {
  // Sources. The operands are numbers, not values.
  input,       ///< a: which input; b: `input_number`, or a part of a complex one
  constant,    ///< a: which constant
  index,       ///< the index along an axis; a: the axis, counted from the last, which is 0
  position,    ///< the number of the element in row-major order
  row_length,  ///< the number of elements of a row

  // One operand.
  negative,
  absolute,
  sign,  ///< −1, 0 or 1; of NaN, NaN; of −0, −0
  bit_not,
  ceil,
  floor,
  trunc,
  round,  ///< to nearest, ties to even
  sqrt,
  rsqrt,
  cbrt,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  erfc,
  lgamma,
  tgamma,
  is_nan,
  is_infinite,
  cast,  ///< to element type b and back to the type that this computes in; fp8 saturates

  // Two operands.
  add,
  subtract,
  multiply,
  divide,     ///< real; of integers in f32
  quotient,   ///< rounded down, so that it agrees with `remainder`; of integers by zero, 0
  remainder,  ///< exactly a − quotient · b, with the sign of b; of integers by zero, 0
  power,
  atan2,
  hypot,
  copysign,  ///< the sign of a NaN is not specified
  minimum,   ///< NaN if either is; −0 < +0
  maximum,
  fmin,  ///< the other one if either is NaN
  fmax,
  equal,
  not_equal,
  less,
  less_equal,
  bit_and,  ///< for integers or booleans
  bit_or,
  bit_xor,
  shift_left,   ///< 0 for distances outside 0 … 63
  shift_right,  ///< keeps the sign; distances outside 0 … 63 count as 63, and of u64 give 0
  philox,       ///< 32 random bits: number a of the stream of seed b

  // Three operands.
  fma,     ///< a · b + c, rounded once
  select,  ///< b where a is true or not zero, else c

  // All values of a row; the result is the same for the whole row.
  row_sum,
  row_product,
  row_minimum,  ///< NaN if there is one
  row_maximum,
  row_argmin,  ///< the first index in the row; of the first NaN if there is one
  row_argmax,

  // No value.
  output,  ///< stores value a; b: which output; c: 0 for the number or real part, 1 for imaginary
};

// Parts of an input. As a number it must not be complex.
inline constexpr std::uint16_t input_number = 0;
inline constexpr std::uint16_t input_imaginary = 1;
inline constexpr std::uint16_t input_real = 2;
inline constexpr int opcode_count = static_cast<int>(opcode::output) + 1;

/// How an instruction's type follows from its operands'.
enum class opcode_family : std::uint8_t {
  source,      ///< operands are numbers
  any,         ///< computes in the common type; boolean becomes i64
  real,        ///< computes in f32 or f64
  predicate,   ///< of a real value; the result is boolean
  comparison,  ///< compares in the common type; the result is boolean
  bits,        ///< computes in i64 or boolean
  integer,     ///< computes in i64
  cast,
  select,
  row,        ///< as `any`
  row_index,  ///< as `any`; the result is i64
  output,
};

struct opcode_traits {
  std::string_view name;
  int operands;  ///< values
  opcode_family family;
  bool commutes = false;
};

/// Precondition: an enumerator.
[[nodiscard]] constexpr opcode_traits traits_of(opcode op) noexcept {
  using enum opcode_family;
  constexpr opcode_traits all[opcode_count] = {
      {"input", 0, source},
      {"constant", 0, source},
      {"index", 0, source},
      {"position", 0, source},
      {"row_length", 0, source},
      {"negative", 1, any},
      {"abs", 1, any},
      {"sign", 1, any},
      {"bit_not", 1, bits},
      {"ceil", 1, real},
      {"floor", 1, real},
      {"trunc", 1, real},
      {"round", 1, real},
      {"sqrt", 1, real},
      {"rsqrt", 1, real},
      {"cbrt", 1, real},
      {"exp", 1, real},
      {"exp2", 1, real},
      {"expm1", 1, real},
      {"log", 1, real},
      {"log2", 1, real},
      {"log10", 1, real},
      {"log1p", 1, real},
      {"sin", 1, real},
      {"cos", 1, real},
      {"tan", 1, real},
      {"asin", 1, real},
      {"acos", 1, real},
      {"atan", 1, real},
      {"sinh", 1, real},
      {"cosh", 1, real},
      {"tanh", 1, real},
      {"asinh", 1, real},
      {"acosh", 1, real},
      {"atanh", 1, real},
      {"erf", 1, real},
      {"erfc", 1, real},
      {"lgamma", 1, real},
      {"tgamma", 1, real},
      {"is_nan", 1, predicate},
      {"is_infinite", 1, predicate},
      {"cast", 1, opcode_family::cast},
      {"add", 2, any, true},
      {"subtract", 2, any},
      {"multiply", 2, any, true},
      {"divide", 2, real},
      {"quotient", 2, any},
      {"remainder", 2, any},
      {"power", 2, real},
      {"atan2", 2, real},
      {"hypot", 2, real, true},
      {"copysign", 2, real},
      {"minimum", 2, any, true},
      {"maximum", 2, any, true},
      {"fmin", 2, any, true},
      {"fmax", 2, any, true},
      {"equal", 2, comparison, true},
      {"not_equal", 2, comparison, true},
      {"less", 2, comparison},
      {"less_equal", 2, comparison},
      {"bit_and", 2, bits, true},
      {"bit_or", 2, bits, true},
      {"bit_xor", 2, bits, true},
      {"shift_left", 2, integer},
      {"shift_right", 2, integer},
      {"philox", 2, integer},
      {"fma", 3, any},
      {"select", 3, opcode_family::select},
      {"row_sum", 1, row},
      {"row_product", 1, row},
      {"row_minimum", 1, row},
      {"row_maximum", 1, row},
      {"row_argmin", 1, row_index},
      {"row_argmax", 1, row_index},
      {"output", 1, opcode_family::output},
  };
  return all[static_cast<int>(op)];
}
[[nodiscard]] constexpr bool is_row(opcode op) noexcept {
  return op >= opcode::row_sum && op <= opcode::row_argmax;
}

}  // namespace troupe::elementwise
