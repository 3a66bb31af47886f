#pragma once

#include <csignal>
#include <string_view>

namespace troupe::worker {

/// The one argument that makes a process a worker.
inline constexpr std::string_view worker_argument = "--troupe-worker";
/// Its socket to the program that has started it.
inline constexpr int control_descriptor = 3;
/// Asks a worker that hangs to write where its program is. Only one that writes such a file is sent
/// it.
[[nodiscard]] inline int where_signal() noexcept { return SIGRTMAX - 4; }

}  // namespace troupe::worker
