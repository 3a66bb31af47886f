#pragma once

#include "worker/plugins/plugin_library.hpp"

#include <troupe/base/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe::worker {

/// Folders that there are, each once.
struct vendor_places {
  std::vector<std::string> folders{};
  std::vector<std::string> refused{};  ///< with the reason: they are not looked in
};

/// Where vendor libraries may be that the loader does not find: toolkits, the system's folders,
/// Python's packages of the environment that runs, that is active, or that `plugin` is installed
/// in. None that is named by a relative path, nor one that any user may write to.
[[nodiscard]] vendor_places vendor_folders(const std::string& plugin);

/// Says that this process is a worker, so that the packages of the Python that its parent runs, if
/// that is of the same user, are those of its program.
void look_beside_parent() noexcept;

/// Opens a plugin. Where the loader does not find a vendor library that it needs, that library is
/// loaded from one of the folders, and then the plugin: the loader takes what is loaded already
/// under the name that it looks for. What such a library needs itself is looked for in the same
/// way.
/// \errors `library_missing` with the loader's own words, and where it was looked for
[[nodiscard]] result<plugin_library> open_with_vendor_libraries(const std::string& path,
                                                                const vendor_places& places);

/// The file that the loader says it has not found; empty where it says something else.
[[nodiscard]] std::string_view file_not_found(std::string_view words) noexcept;

}  // namespace troupe::worker
