#include "device/selection/locate.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

namespace troupe {
namespace {

namespace fs = std::filesystem;

fs::path folder_of_this_library() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&backend_plugin), &info) == 0) return {};
  std::error_code failed;
  const fs::path file = fs::canonical(info.dli_fname, failed);
  return failed ? fs::path(info.dli_fname).parent_path() : file.parent_path();
}

// An install and a build folder have the same layout: <root>/lib beside <root>/libexec; a program
// that contains the library lies in <root>/bin.
fs::path in_root(const fs::path& relative) { return folder_of_this_library() / ".." / relative; }

}  // namespace

std::string worker_executable(const device_config& config) {
  if (!config.worker_path.empty()) return config.worker_path;
  if (config.own_operations != nullptr) return "/proc/self/exe";
  return in_root("libexec/troupe/troupe-worker").lexically_normal();
}

std::string compiler_program() {
  return in_root("libexec/troupe/troupe-compiler").lexically_normal();
}

std::string backend_plugin(std::string_view backend) {
  return in_root(fmt::format("lib/troupe/libtroupe-{}.so", backend)).lexically_normal();
}

}  // namespace troupe
