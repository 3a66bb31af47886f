#include "worker/plugins/backend.hpp"

#include "worker/plugins/built_in.hpp"
#include "worker/plugins/plugin_library.hpp"
#include "worker/plugins/vendor_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::worker {
namespace {

namespace fs = std::filesystem;

bool listed(std::string_view libraries, std::string_view name) noexcept {
  while (!libraries.empty()) {
    const std::size_t end = std::min(libraries.find(' '), libraries.size());
    if (libraries.substr(0, end) == name) return true;
    libraries.remove_prefix(std::min(end + 1, libraries.size()));
  }
  return false;
}

// The plugins of vendor libraries beside a backend's: <stem>-<library>.so.
std::vector<std::string> companions_of(const std::string& plugin, std::string_view libraries) {
  const fs::path path(plugin);
  const std::string prefix = path.stem().string() + "-";
  std::vector<std::string> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(path.parent_path(), failed)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".so" || !name.starts_with(prefix)) continue;
    if (libraries.empty() || listed(libraries, std::string_view(name).substr(prefix.size()))) {
      found.push_back(entry.path().string());
    }
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

result<loaded_backend> load_backend(const std::string& plugin, const accelerator_config& device,
                                    std::string_view libraries, operation_table& operations) {
  const auto of_backend = [&](error why) {
    why.message = fmt::format("backend {}: {}", plugin, why.message);
    return why;
  };
  auto backend = plugin_library::open(plugin);
  if (!backend) return of_backend(std::move(backend).error());
  // The loader opens vendor libraries while the driver creates the context.
  const std::vector<std::string> paths = companions_of(plugin, libraries);
  auto opened = std::async(std::launch::async, [&paths, &plugin] {
    std::vector<result<plugin_library>> all;
    all.reserve(paths.size());
    std::optional<vendor_places> places;
    for (const std::string& path : paths) {
      all.push_back(plugin_library::open(path));
      if (all.back() || file_not_found(all.back().error().message).empty()) continue;
      if (!places) places = vendor_folders(plugin);
      all.back() = open_with_vendor_libraries(path, *places);
    }
    return all;
  });
  loaded_backend made;
  if (auto* make = backend->find<make_accelerator>("troupe_backend_accelerator")) {
    result<void> outcome;
    make(device, made.accelerator, outcome);
    if (!outcome) return std::move(outcome).error();
  }
  if (auto added = backend->add_operations(operations); !added) {
    return of_backend(std::move(added).error());
  }
  made.warm_up = backend->find<warm_up_lane>("troupe_backend_warm_up");
  if (auto* const name = backend->find<const char*()>("troupe_backend_name")) made.name = name();
  std::vector<result<plugin_library>> companions = opened.get();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    result<plugin_library>& library = companions[i];
    auto added = library ? library->add_operations(operations) : result<void>(library.error());
    if (!added) {
      const std::string name =
          fs::path(paths[i]).stem().string().substr(fs::path(plugin).stem().string().size() + 1);
      made.missing.push_back({name, why_missing(paths[i], added.error().message)});
      continue;
    }
    if (auto* warm_up = library->find<warm_up_lane>("troupe_backend_warm_up")) {
      made.library_warm_ups.push_back(warm_up);
    }
  }
  return made;
}

operation_table choose_operations(const operation_table& all, std::string_view libraries,
                                  bool fault_injection) {
  operation_table chosen;
  // First, so that a backend's own, which knows its device's faults, replaces them.
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
