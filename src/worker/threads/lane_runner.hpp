#pragma once

namespace troupe::worker {

/// What runs the requests of a worker's lanes: threads (`threaded_lanes`) for backends whose calls
/// return when the work is done, an accelerator's queues (`stream_lanes`) for others.
class lane_runner {
 public:
  virtual ~lane_runner() = default;
  /// Takes up nothing more, and returns once nothing of this worker's runs in this process.
  virtual void stop() noexcept = 0;
};

}  // namespace troupe::worker
