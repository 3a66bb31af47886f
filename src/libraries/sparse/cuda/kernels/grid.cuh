#pragma once

#include "backend/cuda/context/launch.cuh"

#include <cstdint>

namespace troupe::cuda {

inline constexpr unsigned block_threads = 256;

/// The number of this thread, among all of `launch_over`.
__device__ inline std::int64_t thread_number() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// Enqueues a kernel with at least `count` threads; does nothing if `count` is 0.
template <class... Parameters>
[[nodiscard]] result<void> launch_over(std::int64_t count, void (*kernel)(Parameters...),
                                       cudaStream_t stream,
                                       std::type_identity_t<Parameters>... arguments) {
  if (count == 0) return {};
  return launch(kernel, (count - 1) / block_threads + 1, block_threads, stream, arguments...);
}

}  // namespace troupe::cuda
