#include "backend/cuda/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace troupe::cuda {
namespace {

constexpr const char* soname = "libcuda.so.1";

error unavailable(std::string message) {
  return error{.code = errc::device_unavailable, .message = std::move(message), .library = "cuda"};
}

result<driver> find_driver() {
  // Never closed: the driver keeps threads of its own.
  void* library = ::dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return unavailable(fmt::format("no NVIDIA driver: {}", ::dlerror()));
  }
  driver d;
#define TROUPE_CUDA_TEXT(name) #name
#define TROUPE_CUDA_SYMBOL(name) TROUPE_CUDA_TEXT(name)
#define TROUPE_CUDA_DRIVER_FIND(name)                                                             \
  d.name = reinterpret_cast<decltype(d.name)>(::dlsym(library, TROUPE_CUDA_SYMBOL(name)));        \
  if (d.name == nullptr) {                                                                        \
    return unavailable(fmt::format("{} has no {}: install a driver for CUDA {} or newer", soname, \
                                   TROUPE_CUDA_SYMBOL(name), oldest_driver / 1000));              \
  }
  TROUPE_CUDA_DRIVER_FUNCTIONS(TROUPE_CUDA_DRIVER_FIND)
#undef TROUPE_CUDA_DRIVER_FIND
#undef TROUPE_CUDA_SYMBOL
#undef TROUPE_CUDA_TEXT

  if (const CUresult code = d.cuInit(0); code != CUDA_SUCCESS) {
    const char* name = nullptr;
    d.cuGetErrorName(code, &name);
    error why = unavailable("the NVIDIA driver is there and cannot be used");
    why.call = "cuInit";
    why.code_name = name != nullptr ? name : "";
    why.vendor_code = code;
    return why;
  }
  int version = 0;
  d.cuDriverGetVersion(&version);
  if (version < oldest_driver) {
    return unavailable(fmt::format("the NVIDIA driver supports CUDA {}.{}; this build needs {}.{}",
                                   version / 1000, version % 1000 / 10, oldest_driver / 1000,
                                   oldest_driver % 1000 / 10));
  }
  return d;
}

}  // namespace

result<const driver*> driver::load() {
  static const result<driver> found = find_driver();
  if (!found) return const_cast<result<driver>&>(found).error();
  return &*found;
}

}  // namespace troupe::cuda
