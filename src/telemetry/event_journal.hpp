#pragma once

#include "telemetry/event_courier.hpp"
#include "telemetry/flight_recorder.hpp"

#include <troupe/device/events.hpp>
#include <troupe/telemetry/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace troupe {

/// The last events of a device. Any thread may record and read; both take a mutex that is held for
/// a copy only.
class event_journal {
 public:
  explicit event_journal(std::int32_t device) noexcept : device_(device) {}

  /// Numbers the event, keeps it, and passes it on. Drops it if there is no memory; the gap in the
  /// numbers shows that.
  void record(device_event e) noexcept;
  /// The events with greater numbers, the oldest first.
  [[nodiscard]] std::vector<device_event> since(std::uint64_t number) const;
  /// Fills in the counts of all events so far.
  void count(device_telemetry& into) const;
  /// Tells a tracer of each event from now on, and has the recorder keep what it has at a loss.
  /// Either may be null. Once, before the first event.
  void report_to(std::shared_ptr<request_tracer> tracer, std::shared_ptr<flight_recorder> recorder);
  /// Passes all events on from now on, beginning with those recorded so far.
  void deliver_to(std::shared_ptr<event_courier> courier);

  /// How many events are kept.
  static constexpr std::size_t capacity = 1024;

 private:
  void add_to_counts(const device_event& e);

  const std::int32_t device_;
  mutable std::mutex mutex_;  // guards the rest; held while posting, so that the order is the same
  std::uint64_t last_ = 0;
  std::deque<device_event> events_;
  device_telemetry counts_;  // the fields about events
  std::shared_ptr<event_courier> courier_;
  std::shared_ptr<request_tracer> tracer_;
  std::shared_ptr<flight_recorder> recorder_;
};

}  // namespace troupe
