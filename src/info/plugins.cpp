#include "info/plugins.hpp"

#include "device/locate.hpp"
#include "info/found_library.hpp"

#include <algorithm>
#include <filesystem>

namespace troupe::info {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "libtroupe-";

std::optional<std::string> problem_of(const std::string& path) {
  std::error_code failed;
  if (!fs::exists(path, failed)) return "the file is not there";
  auto library = found_library::open(path);
  if (!library) return std::move(library).error().message;
  if (library->find<void()>("troupe_backend_operations") == nullptr) {
    return "it is no plugin: it exports no troupe_backend_operations";
  }
  return std::nullopt;
}

}  // namespace

std::string plugin_folder() { return fs::path(backend_plugin("cpu")).parent_path().string(); }

std::vector<plugin> plugins() {
  std::vector<plugin> found;
  for (const char* backend : {"cpu", "cuda"})
    found.push_back({.name = backend, .path = backend_plugin(backend)});
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(plugin_folder(), failed)) {
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() != ".so" || !stem.starts_with(prefix)) continue;
    const std::string name = stem.substr(prefix.size());
    if (name != "cpu" && name != "cuda") {
      found.push_back({.name = name, .path = entry.path().string()});
    }
  }
  std::ranges::sort(found, {}, &plugin::name);
  for (plugin& one : found)
    one.problem = problem_of(one.path);
  return found;
}

std::string remedy(const plugin& p) {
  std::error_code failed;
  if (fs::exists(p.path, failed)) {
    return p.name.find('-') == std::string::npos
               ? "install Troupe anew; no device has this backend until then"
               : "requests of this library fail, all others run; the vendor libraries below say what is "
                 "there";
  }
  if (p.name == "cuda") {
    return "this Troupe was built without CUDA; for GPUs build it where nvcc of CUDA 13 is in PATH";
  }
  return "install Troupe anew; the CPU backend belongs to every build";
}

}  // namespace troupe::info
