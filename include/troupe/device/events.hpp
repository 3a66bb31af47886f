#pragma once

#include <troupe/base/error.hpp>
#include <troupe/base/export.hpp>
#include <troupe/core/log.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// Something that happened to a device or one of its workers. Each event is reported once: to
/// `system_config::log`, and in `device::events`.
struct device_event {
  enum class kind : std::uint8_t {
    started,        ///< the first worker serves, or the first one after `restarted`
    standby_ready,  ///< the standby has loaded everything
    lost,          ///< a worker was lost; `why` is the cause, and names the culprit if there is one
    tainted,       ///< tensors have undefined content, because a worker was lost
    recovered,     ///< the next worker has answered a request, or serves and none was waiting
    start_failed,  ///< a worker could not be started, and the device goes on
    quarantined,   ///< a request is refused from now on, because it has ended workers
    forgiven,      ///< a quarantine was lifted, by the program or because its request ended well
    unexplained,   ///< no request in flight caused an earlier fault (`device_health`)
    gave_up,       ///< the device has stopped by itself, as after too many faults
    stopped,       ///< the program has stopped the device, or has let it go
    restarted,     ///< the program has called `device::restart`
    condemned,     ///< a fault in `isolation::thread`
    renewed,       ///< `device::renew` has replaced the worker
    xid,           ///< the card has reported a critical Xid, for whatever process
  };

  kind what{};
  std::uint64_t number = 0;      ///< counts the events of the device, from 1: a gap shows that some
                                 ///< are missing here
  std::int32_t device = -1;      ///< ordinal
  std::uint64_t generation = 0;  ///< the worker's, or the one that the device has reached
  std::chrono::system_clock::time_point at{};  ///< when it happened; it may be reported later
  std::optional<pid_t> pid{};                  ///< the worker's process, if the event is about one
  /// `recovered`: from the first sign of the loss to the answer. `renewed`: how long new requests
  /// have waited.
  std::chrono::nanoseconds took{};
  /// `lost`, `start_failed`: how long the next worker must wait. `quarantined`: how long the
  /// request is refused.
  std::chrono::nanoseconds wait{};
  /// `lost`: how many requests of the worker run again. `tainted`: how many outputs of requests
  /// are undefined. `quarantined`: how many workers it ended. `xid`: the Xid's number.
  std::int64_t count = 0;
  std::int64_t failed = 0;     ///< `lost`: how many requests of the worker failed
  std::int32_t spent = 0;      ///< `lost`, `gave_up`: how much of the restart budget is spent,
  std::int32_t budget = 0;     ///< and the whole (`device_config::restarts`)
  std::optional<error> why{};  ///< the cause. `request` is the culprit, or the request concerned

  /// The event in words that follow the device's name in a sentence; without `why`.
  [[nodiscard]] TROUPE_EXPORT std::string to_string() const;
};

/// The kind's name, such as "standby_ready".
[[nodiscard]] TROUPE_EXPORT std::string_view to_string(device_event::kind what) noexcept;
/// The level at which an event is logged.
[[nodiscard]] TROUPE_EXPORT log_level level_of(device_event::kind what) noexcept;

}  // namespace troupe
