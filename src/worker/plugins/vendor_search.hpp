#pragma once

#include "worker/plugins/plugin_library.hpp"

#include <troupe/base/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe::worker {

/// Where vendor libraries may be that the loader does not find: toolkits, the system's folders,
/// Python's packages of the environment that runs, that is active, or that `plugin` is installed
/// in. Those that there are, each once.
[[nodiscard]] std::vector<std::string> vendor_folders(const std::string& plugin);

/// Opens a plugin. Where the loader does not find a vendor library that it needs, that library is
/// loaded from one of the folders, and then the plugin: the loader takes what is loaded already
/// under the name that it looks for. What such a library needs itself is looked for in the same
/// way.
/// \errors `library_missing` with the loader's own words, and where it was looked for
[[nodiscard]] result<plugin_library> open_with_vendor_libraries(
    const std::string& path, const std::vector<std::string>& folders);

/// The file that the loader says it has not found; empty where it says something else.
[[nodiscard]] std::string_view file_not_found(std::string_view words) noexcept;

}  // namespace troupe::worker
