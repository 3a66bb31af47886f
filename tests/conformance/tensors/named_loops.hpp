#pragma once

#include "conformance/scene.hpp"

#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

/// Operations over named dimensions by naive loops in complex<double>.
namespace troupe::conformance::named {

using extents = scene::extents;

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr dtype element_types[] = {dtype::f32,  dtype::f64, dtype::f16,
                                          dtype::bf16, dtype::c64, dtype::c128};

/// A tensor and the mode of each dimension.
struct operand {
  std::string modes;
  const test_tensor* tensor;
};

/// The terms of each element of a result.
struct sums {
  std::vector<number> values;
  std::vector<double> magnitudes;  ///< sums of |terms|
  std::int64_t terms = 0;          ///< of each
};
/// Σ of products, over all modes that the result lacks.
[[nodiscard]] sums summed(const std::vector<operand>& operands, const std::string& result,
                          const extents& size);
/// alpha · sums + beta · c, as what is expected.
[[nodiscard]] sums scaled(sums of, const scalar& alpha, const scalar& beta,
                          const std::vector<number>& c);
/// Calls `element(result index, values of the operands)` for all indices of all modes.
void for_each_index(const std::vector<operand>& operands, const std::string& result,
                    const extents& size,
                    const std::function<void(std::size_t, const std::vector<number>&)>& element);

/// These texts, one behind the other.
[[nodiscard]] std::string joined(std::initializer_list<std::string_view> texts);

/// The type that a type is computed in.
[[nodiscard]] dtype compute_of(dtype type);
/// Expects |now − expected| ≤ 4 (terms + 8) eps(compute) magnitude + roundings · eps · magnitude:
/// the latter for intermediate results that were rounded to the type; and the rounding of the
/// result.
void expect_sums(scene& s, const test_tensor& d, const sums& expected, int roundings);

/// The place of a request's c.
enum class addend : std::uint8_t { none, apart, in_place };
inline constexpr addend addends[] = {addend::none, addend::apart, addend::in_place};

/// Modes of `modes` drawn from sizes; strides of a random order, some with gaps.
struct sizes {
  std::map<char, std::int64_t> of;
  [[nodiscard]] extents size(const std::string& modes) const;
};
[[nodiscard]] extents random_strides(std::mt19937_64& random, const extents& size);
/// A list of up to `most` modes of `letters`, each at most twice.
[[nodiscard]] std::string random_list(std::mt19937_64& random, const std::string& letters,
                                      int most);
/// Some of the modes of others, each once, in any order.
[[nodiscard]] std::string random_result(std::mt19937_64& random, const std::string& all);
[[nodiscard]] sizes random_sizes(std::mt19937_64& random, const std::string& letters);
/// The same with extent 1 for some of the modes that others have, which repeats an operand.
[[nodiscard]] sizes narrowed(std::mt19937_64& random, sizes of, const std::string& others);
/// A tensor with these modes, in a random layout.
[[nodiscard]] test_tensor& make(scene& s, dtype type, const std::string& modes, const sizes& of,
                                bool packed = false);

}  // namespace troupe::conformance::named
