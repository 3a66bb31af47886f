#pragma once

#include <chrono>

namespace troupe {

/// How `device::renew` replaces the worker.
struct renew_options {
  /// The next worker is started after the call, so that it has loaded the files as they are now.
  /// Otherwise the standby takes over, if there is one.
  bool fresh = false;
  /// How long new requests may wait for those that run; beyond it the worker is not replaced.
  std::chrono::nanoseconds drain = std::chrono::seconds(10);
};

}  // namespace troupe
