#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

namespace troupe {

/// How one request is to be treated.
struct request_options {
  /// Until when the caller wants the answer, from the moment of sending. Then it has it: an answer
  /// that came in time, or `errc::deadline_exceeded`. A request that has not begun by then is not
  /// run. One that runs is left to end: it keeps its tensors, and what conflicts with it waits for
  /// it. So does one that a GPU's stream has already, which runs when its turn comes.
  std::optional<std::chrono::nanoseconds> deadline{};
  /// How long the request may run, from the moment it is seen to; `device_config::run_limit` where
  /// none is given. One that runs longer hangs: it ends with its worker (`errc::device_fault`), at
  /// most 1 ms or a 32nd of the limit late. `max()` is no limit. In `isolation::thread` nothing can
  /// end it: the device is condemned.
  /// \errors `invalid_argument` where it is not above zero
  std::optional<std::chrono::nanoseconds> run_limit{};
  /// False: this request is never refused for what the same one has done before, and what it does
  /// is not counted (`device_config::quarantine`).
  bool quarantine = true;
  /// Cancels a request that has not begun: `errc::cancelled`. In a GPU's stream as above.
  std::stop_token stop{};
};

}  // namespace troupe
