#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>

#include <string>

namespace troupe {

/// Adds the requests of a plugin with the user's own operations to this program's catalogue, for
/// programs that do not have their C++ types. Loads the plugin's file for the CPU for the rest of
/// the process's life; its executors are not called.
/// \errors with the file: `library_missing` for one that cannot be loaded or is not a plugin;
/// `version_mismatch` for one built for another version of Troupe
[[nodiscard]] TROUPE_EXPORT result<void> load_plugin_requests(const std::string& path);

}  // namespace troupe
