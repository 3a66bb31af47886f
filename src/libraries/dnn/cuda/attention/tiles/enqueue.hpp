#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/dnn/cuda/attention/tiles/problem.hpp"

#include <troupe/base/result.hpp>

/// Attention by Troupe's own kernels: everything that the CPU computes except e4m3, in f64 or f32,
/// in tiles of queries and keys, without tensor cores.
namespace troupe::cuda::tiles {

/// `type` is that of q.
[[nodiscard]] result<void> enqueue_forward(const problem& p, dtype type, cudaStream_t stream);
/// The same for the gradients; `delta` points to workspace.
[[nodiscard]] result<void> enqueue_backward(const problem& p, dtype type, cudaStream_t stream);

}  // namespace troupe::cuda::tiles
