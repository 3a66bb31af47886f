#pragma once

#include "worker/plugins/plugin_library.hpp"

#include <troupe/base/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe::worker {

/// Existing folders, each once.
struct vendor_places {
  std::vector<std::string> folders{};
  std::vector<std::string> refused{};  ///< with the reason: these are not searched
};

/// Folders with vendor libraries that the loader may not find: toolkits, the system's folders, and
/// Python's packages of the running or active environment, or of the one that `plugin` is installed
/// in. Excludes relative paths and folders that any user may write to.
[[nodiscard]] vendor_places vendor_folders(const std::string& plugin);

/// Marks this process as a worker, so that it also searches the packages of its parent's Python, if
/// the parent belongs to the same user.
void look_beside_parent() noexcept;

/// Opens a plugin. If the loader does not find a vendor library that it needs, that library is
/// loaded from one of the folders first, and then the plugin: the loader accepts a loaded library
/// under the name that it looks for. Dependencies of such a library are found in the same way.
/// \errors `library_missing` with the loader's message, and the folders that were searched
[[nodiscard]] result<plugin_library> open_with_vendor_libraries(const std::string& path,
                                                                const vendor_places& places);

/// The file that the loader reports as not found; empty for any other message.
[[nodiscard]] std::string_view file_not_found(std::string_view message) noexcept;

}  // namespace troupe::worker
