#include "worker/plugins/plugin_library.hpp"

#include "worker/plugins/whole_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace troupe::worker {
namespace {

static_assert(library_version == TROUPE_VERSION,
              "core/version.hpp and the project's version in CMakeLists.txt are one");

// With the loader's own message.
error missing(std::string_view call) {
  const char* message = ::dlerror();
  return error{.code = errc::library_missing,
               .message = message != nullptr ? message : "the loader does not say why",
               .call = std::string(call)};
}

}  // namespace

result<plugin_library> plugin_library::open(const std::string& path) {
  if (std::string lack = lack_of_bytes(path); !lack.empty()) {
    return error{.code = errc::library_missing, .message = std::move(lack), .call = "dlopen"};
  }
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return missing("dlopen");
  return plugin_library(handle);
}

void* plugin_library::address_of(const char* name) const noexcept { return ::dlsym(handle_, name); }

result<void> plugin_library::add_operations(operation_table& operations) const {
  if (const plugin_stamp* const built_for = stamp()) {
    if (auto fits = check_stamp(*built_for); !fits) return fits;
  }
  auto* add = find<void(operation_table&)>("troupe_backend_operations");
  if (add == nullptr) return missing("dlsym(troupe_backend_operations)");
  add(operations);
  return {};
}

result<void> check_stamp(const plugin_stamp& stamp) {
  static constexpr plugin_stamp ours = plugin_stamp::of_this_build();
  const std::string_view version(stamp.version, ::strnlen(stamp.version, sizeof(stamp.version)));
  if (version == library_version && stamp.layout == ours.layout) return {};
  return error{.code = errc::version_mismatch,
               .message = fmt::format("it was built for Troupe {} with layout {:016x}, and this is "
                                      "Troupe {} with layout {:016x}: build it anew",
                                      version, stamp.layout, library_version, ours.layout)};
}

}  // namespace troupe::worker
