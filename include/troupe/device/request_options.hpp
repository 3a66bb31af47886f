#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>

namespace troupe {

/// Options for one request.
struct request_options {
  /// How long the caller waits for the answer, counted from sending. After that the request fails
  /// with `errc::deadline_exceeded` unless it was answered in time. A request that has not begun by
  /// then is not run. A request that is running, or is already in a GPU's stream, runs to its end:
  /// it keeps its tensors until then, and conflicting requests wait for it.
  std::optional<std::chrono::nanoseconds> deadline{};
  /// How long the request may run, counted from when it is observed to run. Default:
  /// `device_config::run_limit`. A request that runs longer counts as hung: it is ended together
  /// with its worker (`errc::device_fault`), at most 1 ms or 1/32 of the limit late, whichever is
  /// more. `max()` means no limit. In `isolation::thread` nothing can end the request, so the
  /// device is condemned.
  /// \errors `invalid_argument` unless positive
  std::optional<std::chrono::nanoseconds> run_limit{};
  /// If false, the request is never refused for earlier faults, and its own faults are not counted
  /// (`device_config::quarantine`).
  bool quarantine = true;
  /// Cancels a request that has not begun (`errc::cancelled`). A request that is already in a GPU's
  /// stream runs to its end, as with `deadline`.
  std::stop_token stop{};
  /// A number of the caller's, such as that of a tenant or of an HTTP request: tracers see it, and
  /// `device_telemetry::tags` adds up device time by it. 0 is no tag. Workers do not see it.
  std::uint64_t tag = 0;
};

}  // namespace troupe
