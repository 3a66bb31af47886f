#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/dnn/convolution.hpp>

namespace troupe::cuda {

/// Enqueues a valid request. Waits for its plan if it was not prepared.
[[nodiscard]] result<void> run_convolution(const dnn::convolution_forward& r, lane& where);

}  // namespace troupe::cuda
