#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace troupe::bench::raw {

/// Throws if a CUDA call failed.
inline void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  throw std::runtime_error(std::string(call) + ": " + cudaGetErrorName(code) + ", " +
                           cudaGetErrorString(code));
}

inline cudaStream_t of(void* stream) noexcept { return static_cast<cudaStream_t>(stream); }

}  // namespace troupe::bench::raw
