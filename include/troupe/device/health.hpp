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
  recovering,  ///< a worker was lost, the next is not ready yet; requests wait
  stopped,     ///< stopped, or given up after too many faults; every request fails
  condemned,   ///< a fault in `isolation::thread`; every request fails, the process should end
};

/// How a device is. Answered at once, whatever the device is doing.
struct device_health {
  device_state state{};
  std::uint64_t generation = 0;      ///< 0 before the first worker was ready, then +1 with each
  std::uint64_t restarts = 0;        ///< workers replaced so far
  bool standby_ready = false;        ///< with all loaded; one that is not yet takes over, too
  std::optional<pid_t> standby_pid;  ///< nothing when there is none, and in `isolation::thread`
  std::optional<error> last_fault;   ///< why the last worker was replaced, or the device stopped
  /// Faults of the device that no request in flight has caused: all that may have were run again
  /// and lost no worker. Then the cause is one that the device had reported as done, and what that
  /// wrote is not to be trusted, or none, on a card that fails; `last_fault` names those
  /// that ended last. Rare, and the same without Troupe: cudaStreamSynchronize has answered success
  /// behind a misaligned access, once in 354 (docs/results/2026-11-22-h200-6.md).
  std::uint64_t unexplained_faults = 0;
  /// From the first sign of the last fault until the next worker had the mailbox; 0 before any.
  std::chrono::nanoseconds last_failover{};
};

/// A request that is refused (`errc::poisonous`), because the same one has ended workers.
struct quarantined_request {
  std::uint64_t id = 0;   ///< for `device::forgive`
  std::string request{};  ///< as errors show it
  int faults = 0;         ///< workers that it was named for
  std::chrono::steady_clock::time_point since{};
  /// Then it is let through again, by itself: if it ends well, all is forgotten.
  std::chrono::steady_clock::time_point until{};
};

/// Counts since the device was made. Every request sent is answered, failed or in flight.
struct device_statistics {
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  std::uint64_t failed = 0;    ///< with an error, of whatever kind
  std::uint64_t replayed = 0;  ///< run again on another worker
  std::uint64_t in_flight = 0;
  std::uint64_t memory_used_bytes = 0;
  std::uint64_t memory_peak_bytes = 0;
  std::uint64_t memory_limit_bytes = 0;
  std::uint64_t buffers = 0;
};

}  // namespace troupe
