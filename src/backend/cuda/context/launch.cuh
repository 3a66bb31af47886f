#pragma once

#include "backend/cuda/context/failure.hpp"

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace troupe::cuda {

/// Enqueues a kernel with so many blocks of so many threads. \errors as `check`, and `unsupported`
/// for more blocks than a launch can have.
template <class... Parameters>
[[nodiscard]] result<void> launch(void (*kernel)(Parameters...), std::int64_t blocks,
                                  unsigned threads, cudaStream_t stream,
                                  std::type_identity_t<Parameters>... arguments) {
  if (blocks > std::numeric_limits<std::int32_t>::max()) {
    return error{.code = errc::unsupported, .message = "more elements than one launch takes"};
  }
  cudaLaunchConfig_t shape{};
  shape.gridDim = dim3(static_cast<unsigned>(blocks));
  shape.blockDim = dim3(threads);
  shape.stream = stream;
  // Not <<<>>>, which leaves its error behind for the next caller.
  return check(cudaLaunchKernelEx(&shape, kernel, arguments...), "cudaLaunchKernelEx");
}

/// Loads a kernel into the current context before its first use.
template <class... Parameters>
[[nodiscard]] result<void> load(void (*kernel)(Parameters...)) {
  cudaFuncAttributes attributes;
  return check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)),
               "cudaFuncGetAttributes");
}

}  // namespace troupe::cuda
