#include "worker/backend.hpp"

#include "worker/built_in.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

namespace troupe::worker {
namespace {

bool listed(std::string_view libraries, std::string_view name) noexcept {
  while (!libraries.empty()) {
    const std::size_t end = std::min(libraries.find(' '), libraries.size());
    if (libraries.substr(0, end) == name) return true;
    libraries.remove_prefix(std::min(end + 1, libraries.size()));
  }
  return false;
}

}  // namespace

result<void> load_backend(const std::string& plugin, operation_table& operations) {
  const auto missing = [&](std::string_view call) {
    const char* words = ::dlerror();
    return error{.code = errc::library_missing,
                 .message = fmt::format("backend {}: {}", plugin,
                                        words != nullptr ? words : "unknown reason"),
                 .call = std::string(call)};
  };
  // Never unloaded: executors and their libraries keep threads and caches of their own.
  void* handle = ::dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return missing("dlopen");
  using add_function = void (*)(operation_table&);
  const auto add = reinterpret_cast<add_function>(::dlsym(handle, "troupe_backend_operations"));
  if (add == nullptr) return missing("dlsym(troupe_backend_operations)");
  add(operations);

  using warm_function = void (*)();
  const auto warm_up = reinterpret_cast<warm_function>(::dlsym(handle, "troupe_backend_warm_up"));
  if (warm_up != nullptr) warm_up();
  return {};
}

operation_table choose_operations(const operation_table& all, std::string_view libraries,
                                  bool fault_injection) {
  operation_table chosen;
  // First, so that a backend's own, which knows its device's faults, take their place.
  add_built_in(chosen, fault_injection);
  for (const operation& one : all.all()) {
    const std::string_view library = one.type->library();
    const bool wanted =
        library == "fault" ? fault_injection : libraries.empty() || listed(libraries, library);
    if (wanted) chosen.insert(one);
  }
  return chosen;
}

}  // namespace troupe::worker
