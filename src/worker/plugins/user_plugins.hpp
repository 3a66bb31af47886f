#pragma once

#include <troupe/base/result.hpp>
#include <troupe/plugin/accelerator.hpp>
#include <troupe/plugin/executor.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::worker {

/// True for the name of a library of Troupe's own, whether it is installed or not.
[[nodiscard]] bool is_own_library(std::string_view name) noexcept;

/// The file that a worker loads of the plugin at `path`: with a backend of a name ("cuda") that
/// part of it, `libmy_ops-cuda.so` beside `libmy_ops.so`, and else the file itself.
[[nodiscard]] std::string plugin_part(const std::string& path, std::string_view backend);

/// Loads a user's plugins for the rest of the process's life and adds their operations to those
/// that are there. All of them, or none: the first that cannot be used is the error.
/// \returns what they bring to be warm
/// \errors each with the file: `library_missing` for one that cannot be loaded, with the loader's
/// own words, or is no plugin; `version_mismatch`; `invalid_argument` for an operation whose name
/// is none, is taken, or is of a library of Troupe's own
[[nodiscard]] result<std::vector<warm_up_lane*>> load_user_plugins(
    std::span<const std::string> paths, std::string_view backend, operation_table& operations);

}  // namespace troupe::worker
