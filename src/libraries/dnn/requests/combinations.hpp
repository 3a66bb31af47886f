#pragma once

#include <troupe/tensor/dtype.hpp>

#include <array>
#include <cstdint>
#include <optional>

/// The element types that are convolved together, and what else is asked of them. Both backends
/// refuse by this table. Source: cuDNN documentation, "Convolution Support Surface".
namespace troupe::dnn {

/// The type in which products are summed.
enum class arithmetic : std::uint8_t { f64, f32, i32 };

struct combination {
  dtype x, w, y, bias;
  arithmetic sums;
  bool forward_only = false;
  /// Nothing follows the sums: alpha is 1, there are no beta, bias and activation.
  bool plain = false;
  /// If above 1: channels are contiguous in images and filter, multiples of this, in one group.
  std::int64_t channel_unit = 1;
};

inline constexpr std::array combinations = [] {
  using enum dtype;
  return std::array{
      combination{f64, f64, f64, f64, arithmetic::f64},
      combination{f32, f32, f32, f32, arithmetic::f32},
      combination{f16, f16, f16, f16, arithmetic::f32},
      combination{bf16, bf16, bf16, bf16, arithmetic::f32},
      combination{i8, i8, i32, i32, arithmetic::i32, true, true, 4},
      combination{i8, i8, i8, f32, arithmetic::i32, true, false, 4},
      combination{i8, i8, f32, f32, arithmetic::i32, true, false, 4},
      combination{e4m3, e4m3, e4m3, f32, arithmetic::f32, true, false, 16},
  };
}();

/// Null for types that no row has.
[[nodiscard]] constexpr const combination* combination_of(dtype x, dtype y) noexcept {
  for (const combination& one : combinations) {
    if (one.x == x && one.y == y) return &one;
  }
  return nullptr;
}

}  // namespace troupe::dnn
