#include "info/found_library.hpp"

#include <dlfcn.h>
#include <link.h>

namespace troupe::info {

result<found_library> found_library::open(const std::string& name) {
  // As a worker does it, so that the finding here is the worker's, too.
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* message = ::dlerror();
    return error{.code = errc::library_missing,
                 .message = message != nullptr ? message : "the loader does not say why"};
  }
  return found_library(handle);
}

void* found_library::address(const char* name) const { return ::dlsym(handle_, name); }

std::string found_library::path() const {
  link_map* map = nullptr;
  if (::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return {};
  return map->l_name;
}

}  // namespace troupe::info
