#pragma once

#include <string_view>

namespace troupe::worker {

/// The one argument that makes a process a worker.
inline constexpr std::string_view worker_argument = "--troupe-worker";

}  // namespace troupe::worker
