#include "worker/plugins/user_plugins.hpp"

#include "request/built_in_requests.hpp"
#include "worker/plugins/plugin_library.hpp"

#include <troupe/plugin/plugin_requests.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

namespace troupe::worker {
namespace {

// The origin of each operation, for messages.
using origins = std::map<std::string_view, std::string>;

result<void> check_name(const operation& one, const operation_table& taken, const origins& from) {
  const std::string_view name = one.type->name;
  const auto refuse = [&](std::string why) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("operation \"{}\": {}", name, why)};
  };
  const std::string_view library = one.type->library();
  if (library.empty() || library.size() + 1 >= name.size()) {
    return refuse("its name is not of the form library.operation");
  }
  if (is_own_library(library)) {
    return refuse(fmt::format("library {} is Troupe's own; give yours another name", library));
  }
  // Compares names: another type of that name has another id if its fields differ.
  const bool is_taken = std::ranges::any_of(
      taken.all(), [&](const operation& there) { return there.type->name == name; });
  if (!is_taken) return {};
  const auto origin = from.find(name);
  return refuse(fmt::format("that name is taken, by {}",
                            origin != from.end() ? "plugin " + origin->second : "this program"));
}

// The operations of one plugin alone.
result<operation_table> operations_of(const plugin_library& plugin) {
  if (plugin.stamp() == nullptr) {
    return error{.code = errc::library_missing,
                 .message =
                     "it is no plugin of Troupe, as troupe_add_plugin makes them: it has no "
                     "troupe_backend_stamp"};
  }
  operation_table brought;
  if (auto added = plugin.add_operations(brought); !added) return std::move(added).error();
  if (!brought.replaced().empty()) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("operation \"{}\": it brings two executors of it",
                                        brought.replaced().front().type->name)};
  }
  return brought;
}

error no_file(const std::string& path, std::string_view backend) {
  error why{.code = errc::library_missing, .message = "there is no such file"};
  if (!backend.empty()) {
    why.message += fmt::format(
        "; it would be the part of {} for {}, which troupe_add_plugin makes where that can be "
        "compiled",
        path, backend);
  }
  return why;
}

}  // namespace

bool is_own_library(std::string_view name) noexcept {
  return std::ranges::any_of(built_in_requests(),
                             [&](const request_type* own) { return own->library() == name; });
}

std::string plugin_part(const std::string& path, std::string_view backend) {
  if (backend.empty()) return path;
  const std::filesystem::path file(path);
  const std::string part =
      fmt::format("{}-{}{}", file.stem().string(), backend, file.extension().string());
  return (file.parent_path() / part).string();
}

result<std::vector<warm_up_lane*>> load_user_plugins(std::span<const std::string> paths,
                                                     std::string_view backend,
                                                     operation_table& operations) {
  std::vector<warm_up_lane*> warm_ups;
  origins from;
  for (const std::string& path : paths) {
    const std::string file = plugin_part(path, backend);
    const auto of_plugin = [&](error why) {
      why.message = fmt::format("plugin {}: {}", file, why.message);
      return why;
    };
    if (std::error_code failed; !std::filesystem::exists(file, failed)) {
      return of_plugin(no_file(path, backend));
    }
    auto plugin = plugin_library::open(file);
    if (!plugin) return of_plugin(std::move(plugin).error());
    auto brought = operations_of(*plugin);
    if (!brought) return of_plugin(std::move(brought).error());
    for (const operation& one : brought->all()) {
      if (auto free = check_name(one, operations, from); !free) {
        return of_plugin(std::move(free).error());
      }
      operations.insert(one);
      from.emplace(one.type->name, file);
    }
    if (auto* warm_up = plugin->find<warm_up_lane>("troupe_backend_warm_up")) {
      warm_ups.push_back(warm_up);
    }
  }
  return warm_ups;
}

}  // namespace troupe::worker

namespace troupe {

result<void> load_plugin_requests(const std::string& path) {
  operation_table unused;
  auto loaded = worker::load_user_plugins(std::span(&path, 1), "", unused);
  if (!loaded) return std::move(loaded).error();
  return {};
}

}  // namespace troupe
