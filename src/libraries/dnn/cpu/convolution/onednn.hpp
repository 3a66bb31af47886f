#pragma once

#include "libraries/dnn/cpu/implicit_product.hpp"

/// Convolutions by oneDNN, which is faster if it has a kernel: for f32 and, on processors with the
/// instructions, bf16, channels-first and channels-last. Each function answers false, with nothing
/// done, if there is no kernel; our own loops run then.
namespace troupe::cpu {

[[nodiscard]] result<bool> onednn_forward(const dnn::convolution& c, const epilogue& after,
                                          lane_context& lane);
[[nodiscard]] result<bool> onednn_backward_data(const dnn::convolution& c, const epilogue& after,
                                                lane_context& lane);
[[nodiscard]] result<bool> onednn_backward_filter(const dnn::convolution& c, const epilogue& after,
                                                  lane_context& lane);

}  // namespace troupe::cpu
