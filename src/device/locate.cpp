#include "device/locate.hpp"

#include <dlfcn.h>

#include <filesystem>

namespace troupe {
namespace {

namespace fs = std::filesystem;

fs::path folder_of_this_library() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&locate_worker_files), &info) == 0) return {};
  std::error_code failed;
  const fs::path file = fs::canonical(info.dli_fname, failed);
  return failed ? fs::path(info.dli_fname).parent_path() : file.parent_path();
}

// Both layouts, of an install and of a build folder, have the same shape: <root>/lib beside
// <root>/libexec; a program that holds the library lies in <root>/bin.
fs::path in_root(const fs::path& relative) { return folder_of_this_library() / ".." / relative; }

}  // namespace

worker_files locate_worker_files(const device_config& config) {
  worker_files files{.executable = config.worker_path, .plugin = config.backend_path};
  if (files.executable.empty()) {
    files.executable = config.own_operations != nullptr
                           ? fs::path("/proc/self/exe")
                           : in_root("libexec/troupe/troupe-worker").lexically_normal();
  }
  if (files.plugin.empty()) {
    files.plugin = in_root("lib/troupe/libtroupe-cpu.so").lexically_normal();
  }
  return files;
}

}  // namespace troupe
