#pragma once

#include "libraries/dnn/requests/geometry.hpp"
#include "libraries/dnn/shared/epilogue.hpp"
#include "request/vendor_limit.hpp"

#include <array>

/// The cases that oneDNN is given.
namespace troupe::limits::onednn {

inline constexpr vendor_limit convolution_operands{
    .name = "dnn.onednn_operands",
    .library = "oneDNN",
    .from = "2.6",
    .condition = "convolutions of f32 and bf16, each operand with the channels first or last",
    .evidence = "it has kernels for these; other orders are not described to it",
    .test = "DnnConvolution.TakesEveryOrderOfDimensions",
    .can_be_lifted = false};
[[nodiscard]] inline bool accepts_operands(const dnn::convolution& c,
                                           const dnn::epilogue& after) noexcept {
  const auto has_order = [](const any_tensor& t) {
    return dnn::order_of(t) != dnn::dimension_order::other;
  };
  const dtype type = c.filter.view.type();
  return (type == dtype::f32 || type == dtype::bf16) && has_order(c.image.view) &&
         has_order(c.filter.view) && has_order(c.response.view) &&
         (after.z.null() || has_order(after.z));
}

inline constexpr vendor_limit convolution_windows{
    .name = "dnn.onednn_windows",
    .library = "oneDNN",
    .from = "2.6",
    .condition = "the filter has an element in the image wherever it is",
    .evidence =
        "where it has none, what is added to the sums was lost, and some processes crashed: "
        "2.6.3, x86-64, 2026-11-27",
    .test = "*DnnConvolutionTo.TakesEdgesOfSpace/forward"};
[[nodiscard]] inline bool accepts_windows(const dnn::convolution& c) noexcept {
  for (int i = 0; i < c.space(); ++i) {
    const auto d = static_cast<std::size_t>(i);
    for (std::int64_t o = 0; o < c.out(i); ++o) {
      bool touches = false;
      for (std::int64_t tap = 0; tap < c.taps(i) && !touches; ++tap) {
        const std::int64_t at = o * c.stride[d] - c.padding[d] + tap * c.dilation[d];
        touches = at >= 0 && at < c.in(i);
      }
      if (!touches) return is_lifted<convolution_windows>();
    }
  }
  return true;
}

inline constexpr std::array all{convolution_operands, convolution_windows};

}  // namespace troupe::limits::onednn
