#include "raw_kernel.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <stdexcept>

namespace troupe::bench::raw {
namespace {

/// A function of the driver's, found through the runtime: nothing here is linked with the driver.
template <class Function>
Function* driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult how{};
  const cudaError_t code =
      cudaGetDriverEntryPointByVersion(name, &found, 12'000, cudaEnableDefault, &how);
  if (code != cudaSuccess || how != cudaDriverEntryPointSuccess) {
    throw std::runtime_error(std::string("the driver has no ") + name);
  }
  return reinterpret_cast<Function*>(found);
}

void check(CUresult code, const char* call) {
  if (code != CUDA_SUCCESS) {
    throw std::runtime_error(std::string(call) + ": " + std::to_string(code));
  }
}

}  // namespace

kernel::kernel(std::span<const std::byte> image, const std::string& name) {
  CUmodule loaded = nullptr;
  check(driver_function<decltype(cuModuleLoadData)>("cuModuleLoadData")(&loaded, image.data()),
        "cuModuleLoadData");
  module_ = loaded;
  CUfunction found = nullptr;
  check(driver_function<decltype(cuModuleGetFunction)>("cuModuleGetFunction")(&found, loaded,
                                                                              name.c_str()),
        "cuModuleGetFunction");
  function_ = found;
}

kernel::~kernel() {
  (void)driver_function<decltype(cuModuleUnload)>("cuModuleUnload")(static_cast<CUmodule>(module_));
}

void kernel::launch(stream& on, unsigned blocks, unsigned threads, void** parameters) {
  static auto* const launch = driver_function<decltype(cuLaunchKernel)>("cuLaunchKernel");
  check(launch(static_cast<CUfunction>(function_), blocks, 1, 1, threads, 1, 1, 0,
               static_cast<CUstream>(on.native()), parameters, nullptr),
        "cuLaunchKernel");
}

}  // namespace troupe::bench::raw
