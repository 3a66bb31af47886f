#pragma once

#include "backend/cuda/context/launch.cuh"
#include "base/try.hpp"
#include "libraries/dnn/cuda/attention/tiles/tile.hpp"

#include <algorithm>

namespace troupe::cuda::tiles {

/// Runs the steps of a block on the GPU.
struct block_of_threads {
  template <class T>
  class own {
   public:
    __device__ __forceinline__ T& operator[](int) { return value_; }

   private:
    T value_;
  };
  template <class Step>
  __device__ __forceinline__ void each(const Step& step) const {
    step(static_cast<int>(threadIdx.x));
    __syncthreads();
  }
};

template <class Real>
[[nodiscard]] __device__ __forceinline__ memory<Real>& shared_memory() {
  extern __shared__ __align__(16) std::byte bytes[];
  return *reinterpret_cast<memory<Real>*>(bytes);
}

/// Enqueues a kernel whose blocks take work items. Each block has a `memory<Real>`.
template <class Real, class... Parameters>
[[nodiscard]] result<void> launch_over_items(void (*kernel)(Parameters...), std::int64_t items,
                                             cudaStream_t stream,
                                             std::type_identity_t<Parameters>... arguments) {
  constexpr std::int64_t most_blocks = 1 << 20;
  constexpr auto bytes = static_cast<int>(sizeof(memory<Real>));
  // More than a kernel may use by default.
  TRY(check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
            "cudaFuncSetAttribute"));
  cudaLaunchConfig_t shape{};
  shape.gridDim = dim3(static_cast<unsigned>(std::min(items, most_blocks)));
  shape.blockDim = dim3(threads);
  shape.dynamicSmemBytes = bytes;
  shape.stream = stream;
  return check(cudaLaunchKernelEx(&shape, kernel, arguments...), "cudaLaunchKernelEx");
}

}  // namespace troupe::cuda::tiles
