#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace troupe::bench::raw {

/// A function of the driver's, found through the runtime: nothing here is linked with the driver.
template <class Function>
[[nodiscard]] Function* driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult how{};
  const cudaError_t code =
      cudaGetDriverEntryPointByVersion(name, &found, 12'000, cudaEnableDefault, &how);
  if (code != cudaSuccess || how != cudaDriverEntryPointSuccess) {
    throw std::runtime_error(std::string("the driver has no ") + name);
  }
  return reinterpret_cast<Function*>(found);
}

inline void check(CUresult code, const char* call) {
  if (code != CUDA_SUCCESS) {
    throw std::runtime_error(std::string(call) + ": " + std::to_string(code));
  }
}

}  // namespace troupe::bench::raw
