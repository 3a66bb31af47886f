#pragma once

#include "conformance/element.hpp"

#include <troupe/elementwise/function.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace troupe::conformance {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace troupe::conformance

namespace troupe::conformance::elementwise_reference {

/// The arithmetic of a program's value.
enum class kind : std::uint8_t { boolean, integer, single, twice };

/// A value of a program. Those of kind `single` are floats.
struct value {
  kind what = kind::twice;
  double real = 0;
  std::int64_t integer = 0;

  [[nodiscard]] double number() const noexcept {
    return what <= kind::integer ? static_cast<double>(integer) : real;
  }
};

/// One element of each input, and where it is.
struct element {
  std::vector<number> inputs;
  std::vector<std::int64_t> indices;  ///< by axis of the space
  std::int64_t position = 0;
};

/// Runs a function on the elements of one row, element by element and instruction by instruction,
/// from its definition alone. \returns for each element what each output is given, before it is
/// stored: the real part, then the imaginary one
struct outcome {
  std::vector<std::vector<value>> real;       ///< by element, by output
  std::vector<std::vector<value>> imaginary;  ///< likewise
};
[[nodiscard]] outcome run(const elementwise::function& f, std::span<const dtype> inputs,
                          std::span<const dtype> outputs, std::span<const element> row);

/// Word `number` of the philox stream of `seed`.
[[nodiscard]] std::int64_t philox(std::int64_t number, std::int64_t seed);
/// `v` as an element of that type: rounded to nearest, saturated, wrapped.
[[nodiscard]] double stored(dtype type, const value& v);
/// How far a result of that opcode may be off, in units in the last place of f32 and of f64. Source
/// for CUDA's functions: CUDA C++ Programming Guide, "Mathematical Functions".
[[nodiscard]] double bound_ulps(elementwise::opcode op, kind what);

}  // namespace troupe::conformance::elementwise_reference
