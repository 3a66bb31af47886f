#pragma once

#include "device/supervision/loss/settlement.hpp"
#include "telemetry/event_journal.hpp"

#include <troupe/device/events.hpp>

#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

namespace troupe {

/// Writes the journal of a device so that each loss is one event, with its cause, its culprit and
/// its consequences. These may be known only when the lost worker is reaped, and the next worker
/// may answer before that: later events are held back until then.
///
/// Used by the device thread, except `record`.
class loss_report {
 public:
  using clock = std::chrono::steady_clock;

  explicit loss_report(event_journal& journal) noexcept : journal_(journal) {}

  /// The worker in service was lost, at that time by the device's clock.
  void begin(device_event lost, clock::time_point at);
  /// Only the worker's exit shows the cause.
  void explain(const error& why);
  void add(settlement::consequences one);
  /// Everything is known, or not waited for: records the loss, and the events after it.
  void finish(std::int32_t spent, std::chrono::nanoseconds wait);
  /// Records another event, after the loss that is not recorded yet. Any thread.
  void record(device_event e) noexcept;

  /// When the loss must be recorded, whatever is known: a process that does not end, as in a driver
  /// that hangs, must not keep it from the log. The latest time if there is none.
  [[nodiscard]] clock::time_point is_due() const noexcept { return due_; }

 private:
  static constexpr std::chrono::seconds longest_wait{1};

  event_journal& journal_;
  clock::time_point due_ = clock::time_point::max();
  settlement::consequences known_;
  std::mutex mutex_;  // guards the rest
  std::optional<device_event> lost_;
  std::vector<device_event> later_;
};

}  // namespace troupe
