#pragma once

#include "libraries/dnn/cpu/implicit_product.hpp"

/// Convolutions by loops of our own: all types, layouts and options.
namespace troupe::cpu {

/// The response of an image.
result<void> convolve_forward(const dnn::convolution& c, const epilogue& after, lane_context& lane);
/// The gradient of the image: for each element, the sum over the responses that used it.
result<void> convolve_backward(const dnn::convolution& c, const epilogue& after,
                               lane_context& lane);
/// The same of the filter.
result<void> correlate_filter(const dnn::convolution& c, const epilogue& after, lane_context& lane);

}  // namespace troupe::cpu
