#include "backend/cuda/context/launch.cuh"
#include "libraries/memory/cuda/kernels.hpp"
#include "libraries/memory/cuda/strided.cuh"
#include "libraries/memory/cuda/units.cuh"

namespace troupe::cuda {
namespace {

template <class Unit>
__global__ void __launch_bounds__(block_threads)
    copy_units(const __grid_constant__ strided_map map, const std::byte* __restrict__ from,
               std::byte* __restrict__ to) {
  const thread_places places(map);
  Unit values[thread_elements];
#pragma unroll
  for (int i = 0; i < thread_elements; ++i) {
    if (places.loads[i]) values[i] = *reinterpret_cast<const Unit*>(from + places.from[i]);
  }
  if (map.tiled) turn_tile(values, places.tile);
#pragma unroll
  for (int i = 0; i < thread_elements; ++i) {
    if (places.stores[i]) *reinterpret_cast<Unit*>(to + places.to[i]) = values[i];
  }
}

}  // namespace

result<void> enqueue_copy(const strided_map& map, unit moved, const std::byte* from, std::byte* to,
                          cudaStream_t stream) {
  return with_unit(moved, [&]<class Unit>(Unit) {
    return launch(copy_units<Unit>, map.blocks(), block_threads, stream, map, from, to);
  });
}

result<void> load_copy_kernels() {
  return for_each_unit([]<class Unit>(Unit) { return load(copy_units<Unit>); });
}

}  // namespace troupe::cuda
