#pragma once

#include "libraries/dnn/cpu/implicit_product.hpp"

/// Convolutions by oneDNN, which is faster where it has kernels: f32 and, on processors with
/// instructions for it, bf16, channels-first and channels-last. Each answers false where it has
/// none: nothing has been done then, and our own loops do it.
namespace troupe::cpu {

[[nodiscard]] result<bool> onednn_forward(const dnn::convolution& c, const epilogue& after,
                                          lane_context& lane);
[[nodiscard]] result<bool> onednn_backward_data(const dnn::convolution& c, const epilogue& after,
                                                lane_context& lane);
[[nodiscard]] result<bool> onednn_backward_filter(const dnn::convolution& c, const epilogue& after,
                                                  lane_context& lane);

}  // namespace troupe::cpu
