#pragma once

#include <troupe/base/error.hpp>
#include <troupe/base/export.hpp>
#include <troupe/device/device_description.hpp>
#include <troupe/device/events.hpp>
#include <troupe/device/health.hpp>
#include <troupe/device/request_tracer.hpp>
#include <troupe/telemetry/duration_histogram.hpp>
#include <troupe/telemetry/gpu_sensors.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// How many requests failed with a code.
struct failure_count {
  errc code{};
  std::uint64_t count = 0;
};

/// The requests of one operation whose times were taken. The sums are of these requests alone.
struct timed_requests {
  std::uint64_t count = 0;
  duration_histogram duration;  ///< from sending to the answer
  request_times sums;
};

/// The requests of one operation that have ended, by outcome.
struct operation_telemetry {
  std::string name{};  ///< `library.operation`; "other" for all after the first 256
  std::uint64_t done = 0;
  std::vector<failure_count> failed{};  ///< by code, refused requests included
  std::optional<timed_requests> timed{};

  [[nodiscard]] std::uint64_t failures() const noexcept {
    std::uint64_t all = 0;
    for (const failure_count& one : failed)
      all += one.count;
    return all;
  }
};

/// How often a device has reported a kind of event, since it was made.
struct event_count {
  device_event::kind what{};
  std::uint64_t count = 0;
};

/// How many workers were lost for the same kind of reason while a request of a library ran.
struct fault_count {
  /// "address", "assert", "trap" (other faults with a code), "hang", "exit", "killed", "gone",
  /// "silence", "xid", "protocol" or "other".
  std::string kind{};
  std::string library{};  ///< the culprit's; empty if it is unknown
  std::uint64_t count = 0;
};

/// The device time of the requests with one tag (`request_options::tag`).
struct tag_time {
  std::uint64_t tag = 0;
  std::uint64_t requests = 0;         ///< those whose times were taken
  std::chrono::nanoseconds device{};  ///< the sum of these
};

/// A lane of a device with requests in flight.
struct lane_telemetry {
  int lane = 0;
  std::uint64_t requests = 0;
  std::string_view oldest{};  ///< `library.operation` of the first of them; valid for good
};

/// One device at one moment.
struct device_telemetry {
  std::int32_t ordinal = 0;
  std::string backend{};  ///< "cpu" or "cuda"
  device_description description{};
  device_health health{};
  /// Invariants, in every snapshot: `sent == answered + failed + in_flight`; the operations' `done`
  /// add up to `answered`, and their failures to `failed`.
  device_statistics statistics{};
  std::vector<operation_telemetry> operations{};  ///< by name
  /// Times are those of one request in this many, drawn at random (`metrics_config::sample`). 0 is
  /// none.
  std::uint32_t sample = 0;
  std::vector<quarantined_request> quarantine{};

  std::uint32_t mailbox_capacity = 0;  ///< requests; `statistics.in_flight` of them are in use
  std::uint64_t mailbox_bytes = 0;     ///< for long requests
  std::uint64_t mailbox_used_bytes = 0;
  /// As the device thread last saw them: each snapshot asks it to look. Empty if that was more than
  /// 2 s ago.
  std::vector<lane_telemetry> lanes{};
  std::uint64_t frozen_bytes = 0;   ///< a part of `memory_used_bytes`
  std::uint64_t tainted_bytes = 0;  ///< buffers that are undefined in part

  std::uint64_t last_event = 0;          ///< number of the last one (`device::events`)
  std::vector<event_count> events{};     ///< by kind
  std::vector<fault_count> faults{};     ///< by kind and library
  duration_histogram failovers{};        ///< from the first sign of a loss to the next answer
  std::vector<std::uint64_t> xids{};     ///< the last 16 critical Xids of the card
  std::vector<tag_time> tags{};          ///< of at most 64 tags; 0 is no tag
  std::optional<gpu_sensors> sensors{};  ///< of a GPU; read at most once a second
  /// When the device thread last had a turn. It sleeps while it has nothing to do; each snapshot
  /// wakes it, so that the next one shows whether it still turns.
  std::chrono::steady_clock::time_point last_turn{};
};

/// An actor with messages in its mailbox.
struct waiting_actor {
  std::string path{};
  std::uint64_t messages = 0;
};

/// The facts about a running program: counts, states and times. Everything that shows them
/// (Prometheus, the page, `troupe top`) is a view of this value.
struct telemetry_snapshot {
  std::string version{};  ///< the library's
  std::chrono::system_clock::time_point at{};
  std::chrono::steady_clock::time_point steady{};  ///< the same moment
  std::vector<device_telemetry> devices{};         ///< by number
  std::uint64_t actors = 0;
  std::uint64_t actor_messages = 0;                ///< waiting in the mailboxes of all
  std::vector<waiting_actor> longest_mailboxes{};  ///< of at most 8 actors, the longest first
  std::uint64_t dead_letters = 0;
};

/// As JSON: one object. Durations are seconds, `at` is seconds since 1970, and moments of the
/// steady clock become durations until now. Valid UTF-8, whatever the texts hold.
[[nodiscard]] TROUPE_EXPORT std::string to_json(const telemetry_snapshot& s);
[[nodiscard]] TROUPE_EXPORT std::string to_json(const device_telemetry& d);
[[nodiscard]] TROUPE_EXPORT std::string to_json(const device_event& e);

/// A text in quotes as JSON has it. Bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] TROUPE_EXPORT std::string json_text(std::string_view text);

/// "starting", "ready", "recovering", "stopped" or "condemned".
[[nodiscard]] TROUPE_EXPORT std::string_view to_string(device_state state) noexcept;

}  // namespace troupe
