#pragma once

#include "vectors.hpp"

#include <troupe/primitives/reductions.hpp>

#include <optional>

/// The correct sums, products and extremes, computed naively.
namespace troupe::conformance {

inline constexpr primitives::combination combinations[] = {
    primitives::combination::sum, primitives::combination::product,
    primitives::combination::minimum, primitives::combination::maximum};
[[nodiscard]] std::string name_of(primitives::combination op);

/// The types that the result may have: the least precise first.
[[nodiscard]] std::vector<dtype> types_of_result(dtype type, primitives::combination op);

/// Elements whose sum or product stays in range, if they are to be combined so.
void fill_to_combine(scene& s, test_tensor& x, content with, primitives::combination op);

/// All elements combined. Integers are exact, modulo 2^64.
struct combined {
  std::optional<element_bits> element;  ///< a minimum or maximum, but not a NaN
  bool nan = false;
  std::uint64_t integer = 0;
  long double number = 0;
  long double bound = 0;  ///< sum of magnitudes, or the magnitude of a product
  std::int64_t terms = 0;
};
[[nodiscard]] combined combine(dtype type, const std::vector<element_bits>& elements,
                               primitives::combination op);
/// Combines one more element.
void extend(combined& all, dtype type, const element_bits& next, primitives::combination op);
[[nodiscard]] combined none(dtype type, primitives::combination op);

/// Expects an element of type `to`, or a reply, to be this combination of elements of `of`.
void expect_element(dtype to, const element_bits& found, dtype of, const combined& expected,
                    const std::string& note);
void expect_number(const scalar& found, dtype of, const combined& expected,
                   const std::string& note);

/// NaNs are more extreme than numbers; of several, the first. −1 for none.
[[nodiscard]] std::int64_t first_extreme(dtype type, const std::vector<element_bits>& elements,
                                         bool smallest);

}  // namespace troupe::conformance
