#include "backend/cuda/driver.hpp"

#include "os/standard_streams.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

namespace troupe::cuda {
namespace {

constexpr const char* soname = "libcuda.so.1";

error unavailable(std::string message) {
  return error{.code = errc::device_unavailable, .message = std::move(message), .library = "cuda"};
}

std::string too_old(std::string_view found) {
  return fmt::format(
      "the NVIDIA driver {}; this build needs one for CUDA {}.{}: install driver 580 "
      "or newer",
      found, oldest_driver / 1000, oldest_driver % 1000 / 10);
}

// The remedy for a code of `cuInit`.
std::string remedy_for(CUresult code) {
  switch (code) {
    case CUDA_ERROR_NO_DEVICE:
      return "it shows no device: `nvidia-smi -L` lists what the machine has; a container must be "
             "given its GPUs" +
             what_hides_devices();
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
      return "libcuda.so.1 is not of the version of the loaded kernel module: restart after an "
             "update, or take other versions out of LD_LIBRARY_PATH";
    case CUDA_ERROR_STUB_LIBRARY:
      return "libcuda.so.1 is the toolkit's stub: take its folder out of LD_LIBRARY_PATH";
    default:
      return "`nvidia-smi` says whether it works at all";
  }
}

result<driver> find_driver() {
  // The driver opens its files at the first free descriptors.
  os::hold_standard_places();
  // Never closed: the driver has threads of its own.
  void* library = ::dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return unavailable(
        fmt::format("no NVIDIA driver: {}; install one, 580 or newer, or give the "
                    "container its GPUs",
                    ::dlerror()));
  }
  // First a function that every driver has: an old one lacks some of those below.
  using get_version = CUresult(int*);
  auto* const version_of = reinterpret_cast<get_version*>(::dlsym(library, "cuDriverGetVersion"));
  int version = 0;
  if (version_of != nullptr && version_of(&version) == CUDA_SUCCESS && version < oldest_driver) {
    return unavailable(
        too_old(fmt::format("is for CUDA {}.{}", version / 1000, version % 1000 / 10)));
  }
  driver d;
#define TROUPE_CUDA_TEXT(name) #name
#define TROUPE_CUDA_SYMBOL(name) TROUPE_CUDA_TEXT(name)
#define TROUPE_CUDA_DRIVER_FIND(name)                                                             \
  d.name = reinterpret_cast<decltype(d.name)>(::dlsym(library, TROUPE_CUDA_SYMBOL(name)));        \
  if (d.name == nullptr) {                                                                        \
    return unavailable(too_old(fmt::format("({}) has no {}", soname, TROUPE_CUDA_SYMBOL(name)))); \
  }
  TROUPE_CUDA_DRIVER_FUNCTIONS(TROUPE_CUDA_DRIVER_FIND)
#undef TROUPE_CUDA_DRIVER_FIND
#undef TROUPE_CUDA_SYMBOL
#undef TROUPE_CUDA_TEXT

  if (const CUresult code = d.cuInit(0); code != CUDA_SUCCESS) {
    const char* name = nullptr;
    d.cuGetErrorName(code, &name);
    error why = unavailable(fmt::format("the NVIDIA driver cannot be used: {}", remedy_for(code)));
    why.call = "cuInit";
    why.code_name = name != nullptr ? name : "";
    why.vendor_code = code;
    return why;
  }
  return d;
}

}  // namespace

result<const driver*> driver::load() {
  static const result<driver> found = find_driver();
  if (!found) return const_cast<result<driver>&>(found).error();
  return &*found;
}

std::string what_hides_devices() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): only read
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return {};
  return fmt::format(
      "; CUDA_VISIBLE_DEVICES is \"{}\": devices that it does not list are hidden, "
      "and so is all from the first entry on that names none",
      visible);
}

}  // namespace troupe::cuda
