#pragma once

#include <fmt/format.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::worker {

/// The one argument that makes a process a worker.
inline constexpr std::string_view worker_argument = "--troupe-worker";
/// Its title, which `ps` shows (`set_title`).
[[nodiscard]] inline std::string title(std::int32_t device, std::string_view state) {
  return fmt::format("device {}, {}", device, state);
}
/// Its socket to the program that started it.
inline constexpr int control_descriptor = 3;
/// Asks a hanging worker to write where its program is. Only workers that have an output file get
/// it. The answer ends with `end_of_answer`.
[[nodiscard]] inline int where_signal() noexcept { return SIGRTMAX - 4; }
inline constexpr char end_of_answer = '\x04';

}  // namespace troupe::worker
