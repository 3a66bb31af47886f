#pragma once

#include "libraries/dnn/cpu/implicit_product.hpp"
#include "libraries/dnn/cpu/onednn/plan.hpp"

#include <cstdint>
#include <memory>

namespace troupe::cpu {

/// True for an activation that is applied to a plan's results, not by the plan: oneDNN's relu turns
/// NaN into 0, and its elu and softplus lose digits of small results.
[[nodiscard]] constexpr bool follows_plan(dnn::activation kind) noexcept {
  using enum dnn::activation;
  return kind == relu || kind == clipped_relu || kind == elu || kind == softplus;
}
/// Whether results in `type` would be rounded before and after that. relu selects, so that it does
/// not matter when they are.
[[nodiscard]] constexpr bool rounds_twice(dnn::activation kind, dtype type) noexcept {
  using enum dnn::activation;
  return type != dtype::f32 && (kind == elu || kind == softplus);
}

enum class direction : std::uint8_t { forward, backward_data, backward_filter };

/// The plan of a convolution, made once; null where oneDNN has none.
[[nodiscard]] std::shared_ptr<const onednn_plan> onednn_plan_for(direction way,
                                                                 const dnn::convolution& c,
                                                                 const epilogue& after);

// The numbers of operands.
inline constexpr onednn_plan::place image_place = 0;
inline constexpr onednn_plan::place filter_place = 1;
inline constexpr onednn_plan::place response_place = 2;
inline constexpr onednn_plan::place z_place = 3;
inline constexpr onednn_plan::place bias_place = 4;

}  // namespace troupe::cpu
