#pragma once

#include <troupe/dnn/convolution.hpp>
#include <troupe/plugin/executor.hpp>

namespace troupe::cpu {

/// Runs a valid request.
[[nodiscard]] result<void> run_convolution(const dnn::convolution_forward& r, lane_context& lane);

}  // namespace troupe::cpu
