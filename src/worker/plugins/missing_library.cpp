#include "worker/plugins/missing_library.hpp"

#include "worker/plugins/vendor_search.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <charconv>

namespace troupe::worker {
namespace {

// The same library in another major version, if the loader finds one.
std::string other_version_of(std::string_view soname) {
  const std::size_t dot = soname.rfind(".so.");
  if (dot == std::string_view::npos) return {};
  const std::string_view stem = soname.substr(0, dot + 4);
  int wanted = 0;
  const std::string_view number = soname.substr(stem.size());
  if (std::from_chars(number.data(), number.data() + number.size(), wanted).ec != std::errc()) {
    return {};
  }
  constexpr int versions_around = 4;
  for (int major = wanted + versions_around; major > 0 && major >= wanted - versions_around;
       --major) {
    if (major == wanted) continue;
    std::string other = fmt::format("{}{}", stem, major);
    void* const found = ::dlopen(other.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (found == nullptr) continue;
    ::dlclose(found);
    return other;
  }
  return {};
}

}  // namespace

std::string why_missing(std::string_view path, std::string_view message) {
  std::string text = fmt::format("plugin {}: {}", path, message);
  const std::string_view file = file_not_found(message);
  if (file.empty()) return text + "; `troupe info` lists the libraries found";
  if (const std::string other = other_version_of(file); !other.empty()) {
    text += fmt::format(
        "; {} is there, which is another major version than this build was made for", other);
  }
  return text +
         fmt::format("; install the package with {}, or put its folder into LD_LIBRARY_PATH", file);
}

}  // namespace troupe::worker
