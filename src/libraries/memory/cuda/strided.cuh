#pragma once

#include "libraries/memory/cuda/strided.hpp"

#include <cuda_runtime.h>

#include <cstdint>

namespace troupe::cuda {

/// The elements that this thread loads and stores. In a tile these differ until `turn_tile`.
struct thread_places {
  std::int64_t from[thread_elements];
  std::int64_t to[thread_elements];
  bool loads[thread_elements];
  bool stores[thread_elements];
  strided_map::tile tile;

  __device__ __forceinline__ explicit thread_places(const strided_map& map) {
    if (map.tiled) {
      tile = map.tile_of(blockIdx.x);
      const int fast = static_cast<int>(threadIdx.x) % tile_side;
      const int slow = static_cast<int>(threadIdx.x) / tile_side;
#pragma unroll
      for (int i = 0; i < thread_elements; ++i) {
        const int other = slow + i * tile_rows;
        loads[i] = fast < tile.rows && other < tile.columns;
        stores[i] = fast < tile.columns && other < tile.rows;
        from[i] = tile.first.from + other * map.dimensions[0].from + fast * map.dimensions[1].from;
        to[i] = tile.first.to + fast * map.dimensions[0].to + other * map.dimensions[1].to;
      }
    } else {
      const std::int64_t first =
          static_cast<std::int64_t>(blockIdx.x) * block_elements + threadIdx.x;
#pragma unroll
      for (int i = 0; i < thread_elements; ++i) {
        const std::int64_t index = first + i * block_threads;
        loads[i] = stores[i] = index < map.count;
        const strided_map::place at = map.place_of(loads[i] ? index : 0);
        from[i] = at.from;
        to[i] = at.to;
      }
    }
  }
};

/// Moves the values of a tile from the threads that have loaded them to those that store them.
/// Every thread of the block must call it, once.
template <class Value>
__device__ __forceinline__ void turn_tile(Value (&values)[thread_elements],
                                          const strided_map::tile& tile) {
  // One extra column avoids bank conflicts in both directions.
  __shared__ Value square[tile_side][tile_side + 1];
  const int fast = static_cast<int>(threadIdx.x) % tile_side;
  const int slow = static_cast<int>(threadIdx.x) / tile_side;
#pragma unroll
  for (int i = 0; i < thread_elements; ++i) {
    if (fast < tile.rows) square[slow + i * tile_rows][fast] = values[i];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < thread_elements; ++i) {
    if (fast < tile.columns) values[i] = square[fast][slow + i * tile_rows];
  }
}

}  // namespace troupe::cuda
