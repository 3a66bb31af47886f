#pragma once

#include "backend/cuda/context/launch.cuh"

#include <cstdint>

namespace troupe::cuda {

inline constexpr int block_threads = 256;
inline constexpr int thread_elements = 4;

/// Calls `f(i)` for the elements of this thread.
template <class F>
__device__ __forceinline__ void for_each_element(std::int64_t count, F f) {
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * (block_threads * thread_elements) + threadIdx.x;
#pragma unroll
  for (int e = 0; e < thread_elements; ++e) {
    const std::int64_t i = first + e * block_threads;
    if (i < count) f(i);
  }
}

/// Enqueues a kernel that begins with `for_each_element`; does nothing without elements.
template <class... Parameters>
[[nodiscard]] result<void> launch_over(std::int64_t count, void (*kernel)(Parameters...),
                                       cudaStream_t stream,
                                       std::type_identity_t<Parameters>... arguments) {
  if (count == 0) return {};
  constexpr std::int64_t block_elements = block_threads * thread_elements;
  return launch(kernel, (count - 1) / block_elements + 1, block_threads, stream, arguments...);
}

}  // namespace troupe::cuda
