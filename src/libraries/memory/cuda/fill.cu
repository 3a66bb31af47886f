#include "backend/cuda/context/launch.cuh"
#include "libraries/memory/cuda/kernels.hpp"
#include "libraries/memory/cuda/strided.cuh"
#include "libraries/memory/cuda/units.cuh"

#include <cstring>

namespace troupe::cuda {
namespace {

template <class Unit>
__global__ void __launch_bounds__(block_threads)
    fill_units(const __grid_constant__ strided_map map, std::byte* to, Unit value) {
  const thread_places places(map);
#pragma unroll
  for (int i = 0; i < thread_elements; ++i) {
    if (places.stores[i]) *reinterpret_cast<Unit*>(to + places.to[i]) = value;
  }
}

}  // namespace

result<void> enqueue_fill(const strided_map& map, unit stored, const void* value, std::byte* to,
                          cudaStream_t stream) {
  return with_unit(stored, [&]<class Unit>(Unit copied) {
    std::memcpy(&copied, value, sizeof copied);
    return launch(fill_units<Unit>, map.blocks(), block_threads, stream, map, to, copied);
  });
}

result<void> load_fill_kernels() {
  return for_each_unit([]<class Unit>(Unit) { return load(fill_units<Unit>); });
}

}  // namespace troupe::cuda
