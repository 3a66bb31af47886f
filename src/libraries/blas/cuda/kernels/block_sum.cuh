#pragma once

#include "libraries/blas/cuda/kernels/launch.cuh"

namespace troupe::cuda {

/// The sum of `value` over the block, in its first thread. Always in the same order.
template <class Sum>
__device__ Sum block_sum(Sum value) {
  constexpr int warps = threads_per_block / 32;
  __shared__ Sum of_warps[warps];
  __syncthreads();  // the sums of an earlier call have been read
  for (int ahead = 16; ahead > 0; ahead /= 2)
    value += __shfl_down_sync(~0u, value, ahead);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < warps; ++warp)
      value += of_warps[warp];
  }
  return value;
}

}  // namespace troupe::cuda
