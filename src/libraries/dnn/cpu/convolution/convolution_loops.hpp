#pragma once

#include "libraries/dnn/cpu/implicit_product.hpp"

/// Convolutions by loops of our own: all types, layouts and options.
namespace troupe::cpu {

/// The response of an image.
result<void> convolve_forward(const dnn::convolution& c, const epilogue& after, lane_context& lane);
/// The image that a response came from: what each of its elements was used for, summed up.
result<void> convolve_backward(const dnn::convolution& c, const epilogue& after,
                               lane_context& lane);
/// The same of the filter.
result<void> correlate_filter(const dnn::convolution& c, const epilogue& after, lane_context& lane);

}  // namespace troupe::cpu
