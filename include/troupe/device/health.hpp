#pragma once

#include <troupe/base/error.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

enum class device_state : std::uint8_t {
  starting,    ///< no worker has been ready yet; requests wait
  ready,       ///< a worker serves requests
  recovering,  ///< a worker was lost and the next is not ready yet; requests wait
  stopped,     ///< stopped, or gave up after too many faults; every request fails
  condemned,   ///< a fault in `isolation::thread`; every request fails and the process should end
};

/// A snapshot of a device's state. Available at once, whatever the device is doing.
struct device_health {
  device_state state{};
  std::uint64_t generation = 0;      ///< 0 before the first worker is ready, then +1 with each
  std::uint64_t restarts = 0;        ///< lost workers replaced so far
  bool standby_ready = false;        ///< fully loaded; one that is not yet can take over as well
  std::optional<pid_t> standby_pid;  ///< empty if there is no standby, and in `isolation::thread`
  std::optional<error> last_fault;   ///< why the last worker was replaced, or the device stopped
  /// Faults that no request in flight caused: every candidate was run again and no worker was lost.
  /// The cause is then a request that the device had already reported as done, whose results must
  /// not be trusted, or failing hardware. `last_fault` names the requests that ended last. This is
  /// rare and not specific to Troupe: in one of 354 runs cudaStreamSynchronize reported success
  /// after a misaligned access (ADR 9).
  std::uint64_t unexplained_faults = 0;
  /// Time from the first sign of the last loss of a worker until the next worker answered a
  /// request; 0 if none was lost. If no request was waiting, and until one is answered, the time
  /// until the next worker had the mailbox.
  std::chrono::nanoseconds last_failover{};
};

/// A request that is refused (`errc::poisonous`) because it has ended workers before.
struct quarantined_request {
  std::uint64_t id = 0;   ///< for `device::forgive`
  std::string request{};  ///< as error messages show it
  int faults = 0;         ///< workers that it was identified as having ended
  std::chrono::steady_clock::time_point since{};
  /// When it may run again, alone; if it succeeds, its faults are cleared.
  std::chrono::steady_clock::time_point until{};
};

/// Counts since the device was made. Invariant: `sent == answered + failed + in_flight`.
struct device_statistics {
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  std::uint64_t failed = 0;    ///< with any error
  std::uint64_t replayed = 0;  ///< run again on another worker
  std::uint64_t in_flight = 0;
  std::uint64_t memory_used_bytes = 0;
  std::uint64_t memory_peak_bytes = 0;
  std::uint64_t memory_limit_bytes = 0;
  std::uint64_t buffers = 0;
};

}  // namespace troupe
