#pragma once

#include <dlfcn.h>

namespace troupe::python {

/// A function of the CUDA driver, where a worker has loaded that; else null.
template <class Function>
[[nodiscard]] Function* of_driver(const char* name) {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return driver == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(driver, name));
}

}  // namespace troupe::python
