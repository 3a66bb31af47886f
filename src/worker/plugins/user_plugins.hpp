#pragma once

#include <troupe/base/result.hpp>
#include <troupe/plugin/accelerator.hpp>
#include <troupe/plugin/executor.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::worker {

/// True for the name of one of Troupe's own libraries, installed or not.
[[nodiscard]] bool is_own_library(std::string_view name) noexcept;

/// The file that a worker loads for the plugin at `path`: the part for a named backend ("cuda"),
/// `libmy_ops-cuda.so` beside `libmy_ops.so`; without a name the file itself.
[[nodiscard]] std::string plugin_part(const std::string& path, std::string_view backend);

/// Loads a user's plugins for the rest of the process's life and adds their operations to the
/// table. All of them, or none: the first that cannot be used is the error.
/// \returns their warm-up work
/// \errors each with the file: `library_missing` if it cannot be loaded, with the loader's message,
/// or is no plugin; `version_mismatch`; `invalid_argument` for an operation whose name is invalid,
/// taken, or in a library of Troupe's own
[[nodiscard]] result<std::vector<warm_up_lane*>> load_user_plugins(
    std::span<const std::string> paths, std::string_view backend, operation_table& operations);

}  // namespace troupe::worker
