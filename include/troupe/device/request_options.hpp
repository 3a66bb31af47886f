#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

namespace troupe {

/// How one request is to be treated.
struct request_options {
  /// From the moment of sending. A request that has not begun by then is not run
  /// (`errc::deadline_exceeded`); one that is still running then is ended with its worker
  /// (`errc::device_fault`).
  std::optional<std::chrono::nanoseconds> deadline{};
  /// Cancels a request that has not begun: `errc::cancelled`.
  std::stop_token stop{};
};

}  // namespace troupe
