#pragma once

#include <troupe/plugin/executor.hpp>

#include <optional>

namespace troupe {

/// Makes a program its own worker, so that its own operations need no plugin file. Call it first in
/// `main`, and give the same `add` to `device_config::own_operations`.
///
/// In a process that a device has started as a worker, it serves requests until the device releases
/// it, then returns the exit status. In any other process it returns nothing, at once. If a worker
/// process makes a device instead of calling this, that fails with `worker_not_found`.
/// \code
///   if (const auto status = troupe::worker_entry(argc, argv, add_my_operations)) return *status;
/// \endcode
[[nodiscard]] TROUPE_EXPORT std::optional<int> worker_entry(
    int argc, char** argv, void (*add)(operation_table&) = nullptr);

}  // namespace troupe
