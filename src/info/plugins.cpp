#include "info/plugins.hpp"

#include "backend/about.hpp"
#include "device/selection/locate.hpp"
#include "info/found_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace troupe::info {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "libtroupe-";

result<found_library> load(const std::string& path) {
  std::error_code failed;
  if (!fs::exists(path, failed)) {
    return error{.code = errc::library_missing, .message = "the file is not there"};
  }
  auto library = found_library::open(path);
  if (library && library->find<void()>("troupe_backend_operations") == nullptr) {
    return error{.code = errc::library_missing,
                 .message = "it is no plugin: it exports no troupe_backend_operations"};
  }
  return library;
}

std::string remedy(const plugin& p) {
  std::error_code failed;
  if (fs::exists(p.path, failed)) {
    return p.name.find('-') == std::string::npos
               ? "install Troupe anew; no device has this backend until then"
               : "requests of this library fail, all others run; the vendor libraries below show "
                 "which are found";
  }
  if (p.name == "cuda") {
    return "this Troupe was built without CUDA; for GPUs build it where nvcc of CUDA 13 is in PATH";
  }
  return "install Troupe anew; the CPU backend belongs to every build";
}

// "0.3.21, kernels SkylakeX, 2 threads" from a plugin's facts.
void tell(void* to, const char* library, const char* what, const char* value) {
  auto& found = *static_cast<std::vector<entry>*>(to);
  if (found.empty() || found.back().name != library) found.push_back({.name = library});
  entry& one = found.back();
  const std::string_view name = what;
  const auto number = static_cast<std::uint64_t>(std::atoll(value));
  if (name == "threads") {
    one.fact(name, number);
    one.text += fmt::format(", {} {}", number, number == 1 ? "thread" : "threads");
  } else {
    one.fact(name, value);
    one.text += one.text.empty() ? value : fmt::format(", {} {}", name, value);
  }
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
  return found;
}

entry loaded(const plugin& p) {
  entry one{.name = p.name, .text = "ok"};
  const auto library = load(p.path);
  one.fact("path", p.path).fact("ok", library.has_value());
  if (library) return one;
  one.text = "cannot be loaded: " + library.error().message;
  one.remedy = remedy(p);
  return one.fact("problem", library.error().message);
}

std::vector<entry> libraries_inside(const plugin& p) {
  std::vector<entry> found;
  const auto library = load(p.path);
  if (!library) return found;
  if (auto* about = library->find<backend_about>("troupe_backend_about")) about(&tell, &found);
  return found;
}

}  // namespace troupe::info
