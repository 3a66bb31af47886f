#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

namespace troupe::cuda {

/// Enqueues t = factor · t for f32, f64, c64, c128, and for halves, which are multiplied in f32.
[[nodiscard]] result<void> enqueue_scale(const any_tensor& t, double factor, cudaStream_t stream);

/// Loads the kernels into the current context ahead of their first use.
[[nodiscard]] result<void> load_scale_kernels();

}  // namespace troupe::cuda
