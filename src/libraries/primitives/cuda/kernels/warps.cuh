#pragma once

#include "libraries/primitives/cuda/kernels/grid.cuh"

#include <type_traits>

/// Combines the values of the threads of a warp or a block, in a fixed order.
namespace troupe::cuda {

inline constexpr int warp_threads = 32;
inline constexpr int block_warps = block_threads / warp_threads;
inline constexpr unsigned every_lane = 0xffffffff;

/// The value of the lane `lanes` above this one.
template <class Accumulator>
__device__ __forceinline__ Accumulator shifted_down(Accumulator value, int lanes) {
  if constexpr (std::is_arithmetic_v<Accumulator>) {
    return __shfl_down_sync(every_lane, value, lanes);
  } else {
    value.rank = __shfl_down_sync(every_lane, value.rank, lanes);
    value.index = __shfl_down_sync(every_lane, value.index, lanes);
    return value;
  }
}

template <class Accumulator, class Combine>
__device__ Accumulator combine_warp(Accumulator value, Combine combine) {
#pragma unroll
  for (int half = warp_threads / 2; half > 0; half /= 2)
    value = combine(value, shifted_down(value, half));
  return value;
}

/// Combines the values of a block; only the first thread's result is valid.
template <class Accumulator, class Combine>
__device__ Accumulator combine_block(Accumulator value, Accumulator identity, Combine combine) {
  __shared__ Accumulator of_warps[block_warps];
  const int lane = static_cast<int>(threadIdx.x) % warp_threads;
  const int warp = static_cast<int>(threadIdx.x) / warp_threads;
  value = combine_warp(value, combine);
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  value = lane < block_warps ? of_warps[lane] : identity;
  __syncthreads();  // the caller may call it again
  return combine_warp(value, combine);
}

}  // namespace troupe::cuda
