#include "raw_kernel.hpp"

#include "raw_driver.hpp"

namespace troupe::bench::raw {

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
