#pragma once

#include <troupe/elementwise/function.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace troupe::elementwise {

/// The arithmetic of a program.
enum class number : std::uint8_t { boolean, i64, f32, f64 };

/// The type that elements are computed in.
[[nodiscard]] constexpr number number_of(dtype type) noexcept {
  if (type == dtype::f64 || type == dtype::c128) return number::f64;
  if (type == dtype::boolean) return number::boolean;
  return is_integer(type) ? number::i64 : number::f32;
}

/// Instructions that only typed programs have.
inline constexpr auto convert = static_cast<opcode>(200);  ///< a from its type to another
/// f64 to f32, so that rounding the result to fewer bits rounds only once. Source: S. Boldo,
/// G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
/// odd", 2008.
inline constexpr auto round_to_odd = static_cast<opcode>(201);
/// A real number to an integer within the bounds of type b; NaN to 0.
inline constexpr auto to_integer = static_cast<opcode>(202);
// For u64, whose 64 bits are computed with as i64: here the sign bit counts as 2^63.
inline constexpr auto unsigned_to_real = static_cast<opcode>(203);
inline constexpr auto unsigned_quotient = static_cast<opcode>(204);
inline constexpr auto unsigned_remainder = static_cast<opcode>(205);
inline constexpr auto unsigned_shift_right = static_cast<opcode>(206);

// Constants that only typed programs have, by numbers beyond those of a function.
inline constexpr std::uint16_t zero_constant = 0xff00;
inline constexpr std::uint16_t sign_bit_constant = 0xff01;
/// The least or the largest element of a type that is no float.
[[nodiscard]] constexpr std::uint16_t bound_constant(dtype type, bool largest) noexcept {
  return static_cast<std::uint16_t>(0xff02 + 2 * static_cast<int>(type) + (largest ? 1 : 0));
}
/// The value of an instruction `constant`: the function's, or one of these.
[[nodiscard]] scalar constant_of(const function& f, std::uint16_t number) noexcept;

/// How many operands are values.
[[nodiscard]] constexpr int value_operands(opcode op) noexcept {
  if (op >= unsigned_quotient) return 2;
  return op >= convert ? 1 : traits_of(op).operands;
}

/// An instruction of a typed program. Operands are numbers of earlier ones.
struct typed_instruction {
  opcode op{};
  number type{};           ///< its operands'
  number result{};         ///< its value's
  std::uint8_t level = 0;  ///< how many passes over a row must end before it can be computed
  bool uniform = false;    ///< the same for a whole row
  std::uint16_t a = 0;
  std::uint16_t b = 0;
  std::uint16_t c = 0;
  /// Only results of at most 16 bits depend on it, and continuously: a GPU may divide and
  /// exponentiate to 22 bits.
  bool fast = false;
};

/// The work of one pass over a row.
struct pass {
  std::vector<std::uint16_t> elements;  ///< for each element
  std::vector<std::uint16_t> rows;      ///< row operations on them
  std::vector<std::uint16_t> uniform;   ///< once a row, after it
};

/// A function for operands of certain types: every conversion is an instruction.
struct typed_program {
  std::vector<typed_instruction> code;
  std::vector<pass> passes;  ///< at least one; the last stores the outputs

  /// `repeated`: a bit for each input that is the same for a whole row. `no_elements`: rows are
  /// empty. Precondition: `f` is valid and has these numbers of inputs and outputs.
  /// \errors `type_mismatch`, `invalid_argument`
  [[nodiscard]] static result<typed_program> bind(const function& f, std::span<const dtype> inputs,
                                                  std::span<const dtype> outputs,
                                                  std::uint32_t repeated = 0,
                                                  std::uint32_t reduced = 0,
                                                  bool no_elements = false);
};

/// The types of a program's values, without the program, for a request's rule. Also whether values
/// are the same for a whole row. \errors as `bind`
[[nodiscard]] result<void> check_types(const function& f, std::span<const dtype> inputs,
                                       std::span<const dtype> outputs, std::uint32_t repeated = 0,
                                       std::uint32_t reduced = 0);

}  // namespace troupe::elementwise
