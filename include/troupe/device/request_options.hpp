#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

namespace troupe {

/// How one request is to be treated.
struct request_options {
  /// From the moment of sending. A request that has not begun by then is not run
  /// (`errc::deadline_exceeded`); one that is still running then is ended with its worker
  /// (`errc::device_fault`). What a GPU's stream has already cannot be taken out of it: such a one
  /// is answered in time, and runs all the same when its turn comes.
  std::optional<std::chrono::nanoseconds> deadline{};
  /// Cancels a request that has not begun: `errc::cancelled`. In a GPU's stream as above.
  std::stop_token stop{};
};

}  // namespace troupe
