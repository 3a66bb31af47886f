#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/request.hpp>

#include <string_view>

namespace troupe::dnn {

/// Draws a token from each row of logits, as a language model does.
///
/// Reads x [rows, n]; writes tokens [rows] and, where given, logprobs [rows]: the logarithm of the
/// token's probability under the softmax of the whole row, before temperature and filters. With the
/// weights w[i] = exp((x[i] − max x) / temperature) of a row, these filters apply one after the
/// other, each to what the one before has left:
/// - `top_k`: the k largest; 0 leaves all
/// - `top_p`: the fewest, from the largest on, whose weights sum up to at least top_p of the sum
/// - `min_p`: those with w[i] ≥ min_p
///
/// An element as large as the smallest one that is left is left, too; the largest always is. Token
/// i of these is drawn with a probability in proportion to w[i]: it is the first one with the
/// largest ln w[i] + g[i], where g[i] = −ln(−ln u[i]) and u[i] = (⌊word / 2⁹⌋ + ½) / 2²³ of word i
/// of the philox stream of the seed whose subsequence is the position. So a row with the same seed
/// and position draws the same token in any batch. A temperature of 0 takes the first of the
/// largest elements.
///
/// The parameters have a number for each row: temperature, top_p and min_p f32, top_k i32, seeds
/// u64, positions i64. Left out, they are 1, 1, 0, 0, 0 and 0. A row that has a NaN or +∞, nothing
/// but −∞, or a parameter out of its range (temperature ≥ 0, top_k ≥ 0, 0 < top_p ≤ 1,
/// 0 ≤ min_p ≤ 1) gives −1, and the logarithm NaN. Types: x has f32, f16 or bf16, tokens i32,
/// logprobs f32; any strides. Computed in f32; sums of weights are exact sums of weights rounded to
/// 2⁻⁴⁰, so they do not depend on an order. Source of the draw: Gumbel-max, as in Maddison, Tarlow,
/// Minka, "A* Sampling", 2014.
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`; `size_overflow` for more than 2²²
/// elements of a row
struct sample_rows {
  static constexpr std::string_view name = "dnn.sample_rows";
  using reply = void;

  any_tensor x{};
  any_tensor tokens{};
  any_tensor logprobs{};     ///< optional
  any_tensor temperature{};  ///< optional, as all below
  any_tensor top_k{};
  any_tensor top_p{};
  any_tensor min_p{};
  any_tensor seeds{};
  any_tensor positions{};

  TROUPE_EXPORT static void describe(description<sample_rows>& d);
};

}  // namespace troupe::dnn
