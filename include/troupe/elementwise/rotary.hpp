#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>

namespace troupe::elementwise {

/// Which elements of the last dimension, of extent 2 · half, make a pair.
enum class rotary_pairs : std::uint8_t {
  halves,      ///< i and half + i
  interleaved  ///< 2 · i and 2 · i + 1
};

/// Rotary position embedding: each pair (a, b) becomes (a · cos − b · sin, b · cos + a · sin).
/// Source: Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021.
///
/// Reads x [batch…, s, heads, 2 · half] and the tables cos and sin [s, half]; writes y, of x's
/// shape, which may be the same view as x. Any strides: permute a tensor that has heads before s.
/// Types: x and y have one of f64, f32, f16, bf16; the tables have the same type, or f32 beside f16
/// and bf16.
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`
struct rotary_embedding {
  static constexpr std::string_view name = "elementwise.rotary_embedding";
  using reply = void;

  any_tensor x{};
  any_tensor cos{};
  any_tensor sin{};
  any_tensor y{};
  rotary_pairs pairs = rotary_pairs::halves;

  TROUPE_EXPORT static void describe(description<rotary_embedding>& d);
};

/// The gradient of `rotary_embedding` by x: the rotation of dy by the opposite angles. dx may be
/// the same view as dy.
struct rotary_embedding_backward {
  static constexpr std::string_view name = "elementwise.rotary_embedding_backward";
  using reply = void;

  any_tensor dy{};
  any_tensor cos{};
  any_tensor sin{};
  any_tensor dx{};
  rotary_pairs pairs = rotary_pairs::halves;

  TROUPE_EXPORT static void describe(description<rotary_embedding_backward>& d);
};

}  // namespace troupe::elementwise
