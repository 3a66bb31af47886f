#include "runner.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace troupe::conformance {

const operation_table& backend_operations() {
  static const operation_table table = [] {
    // Never closed: OpenBLAS's threads run code of the plugin until the program ends.
    void* const plugin = dlopen(TROUPE_CPU_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
    const auto add =
        reinterpret_cast<void (*)(operation_table&)>(dlsym(plugin, "troupe_backend_operations"));
    operation_table filled;
    add(filled);
    return filled;
  }();
  return table;
}

}  // namespace troupe::conformance
