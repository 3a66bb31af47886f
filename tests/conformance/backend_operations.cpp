#include "runner.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace troupe::conformance {

const operation_table& backend_operations() {
  static const operation_table table = [] {
    // Never closed: OpenBLAS's threads run code of the plugin until the program ends.
    // Beside the program, so that the tests run wherever their folder is moved.
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
    const std::string path = program.parent_path() / ".." / TROUPE_CPU_PLUGIN;
    void* const plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
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
