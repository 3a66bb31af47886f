#pragma once

namespace troupe::worker {

/// Runs the requests of a worker's lanes: on threads (`threaded_lanes`) for backends whose calls
/// return when the work is done, on an accelerator's queues (`stream_lanes`) for others.
class lane_runner {
 public:
  virtual ~lane_runner() = default;
  /// Takes no more requests, and returns once none of this worker's runs in this process.
  virtual void stop() noexcept = 0;
};

}  // namespace troupe::worker
