#include "runner.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace troupe::conformance {

namespace {

/// Adds what a plugin brings. It is never closed: a library's threads run code of the plugin until
/// the program ends.
void add_plugin(const std::filesystem::path& path, operation_table& table) {
  void* const plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::abort();
  }
  const auto add =
      reinterpret_cast<void (*)(operation_table&)>(dlsym(plugin, "troupe_backend_operations"));
  add(table);
}

}  // namespace

const operation_table& backend_operations() {
  static const operation_table table = [] {
    // Beside the program, so that the tests run wherever their folder is moved.
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
    const std::filesystem::path backend = program.parent_path() / ".." / TROUPE_CPU_PLUGIN;
    operation_table filled;
    add_plugin(backend, filled);
    // And of the libraries beside it, as a worker finds them.
    for (const auto& entry : std::filesystem::directory_iterator(backend.parent_path())) {
      const std::string name = entry.path().filename();
      if (name.starts_with(backend.stem().string() + "-")) add_plugin(entry.path(), filled);
    }
    return filled;
  }();
  return table;
}

}  // namespace troupe::conformance
