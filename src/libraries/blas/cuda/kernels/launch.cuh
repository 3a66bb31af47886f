#pragma once

#include "backend/cuda/context/failure.hpp"
#include "backend/cuda/context/lane.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

/// Launches of the kernels of this folder.
namespace troupe::cuda {

inline constexpr int threads_per_block = 256;

/// Blocks for `n` steps of one thread each. More than fill the device several times over gain
/// nothing: the threads of fewer go on to the next step, see `first_step`.
[[nodiscard]] inline unsigned blocks_for(const lane& where, std::int64_t n) noexcept {
  const std::int64_t needed = (n + threads_per_block - 1) / threads_per_block;
  return static_cast<unsigned>(
      std::clamp<std::int64_t>(needed, 1, std::int64_t{16} * where.multiprocessors()));
}

/// Enqueues `kernel` on the lane. `name` is what an error calls it.
template <class... Parameters, class... Arguments>
[[nodiscard]] result<void> launch(const lane& where, std::string_view name,
                                  void (*kernel)(Parameters...), unsigned blocks,
                                  Arguments... arguments) {
  cudaLaunchConfig_t shape{};
  shape.gridDim = dim3(blocks);
  shape.blockDim = dim3(threads_per_block);
  shape.stream = where.stream();
  return check(cudaLaunchKernelEx(&shape, kernel, static_cast<Parameters>(arguments)...), name);
}

/// The first step of this thread, and how far it is to its next.
__device__ inline std::int64_t first_step() {
  return static_cast<std::int64_t>(blockIdx.x) * threads_per_block + threadIdx.x;
}
__device__ inline std::int64_t step_width() {
  return static_cast<std::int64_t>(gridDim.x) * threads_per_block;
}

}  // namespace troupe::cuda
