#pragma once

#include <string_view>

namespace troupe::worker {

/// The one argument that makes a process a worker.
inline constexpr std::string_view worker_argument = "--troupe-worker";
/// Its socket to the program that has started it.
inline constexpr int control_descriptor = 3;

}  // namespace troupe::worker
