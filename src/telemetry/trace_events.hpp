#pragma once

#include "telemetry/flight_recorder.hpp"

#include <troupe/device/events.hpp>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

/// Writes the events of a trace, in the Trace Event Format: an array of JSON objects. A process for
/// each device, in it a track for each lane and one, "device", for what happens to the device.
/// Source of the format: "Trace Event Format", The Chromium Authors.
class trace_events {
 public:
  /// Begins the array, with the time of day at a moment of the steady clock.
  trace_events();

  /// A slice from its begin to its end; an instant if it is not known to have run. `failure` is
  /// its text.
  void add(std::int32_t device, const flight_record& r, std::string_view failure = {});
  /// A request that was refused when it was sent.
  void add_refused(const traced_request& r, std::string_view failure);
  /// An instant; for a recovery also a slice, from the first sign of the loss to the next answer.
  void add(const device_event& e);
  /// Requests are missing here, because they came faster than they could be written.
  void add_missing(std::uint64_t count);
  /// Ends the array.
  void end() { text_ += "\n]\n"; }

  /// The text since the last call.
  [[nodiscard]] std::string take() { return std::exchange(text_, {}); }
  [[nodiscard]] std::size_t bytes() const noexcept { return text_.size(); }

 private:
  static constexpr int track_of_device = -1;

  void put(std::string_view event);
  void name_track(std::int32_t device, int lane);
  void instant(std::int32_t device, int lane, std::string_view name, std::string_view what,
               double at_us, std::string_view arguments);

  std::string text_;
  bool is_first_ = true;
  std::set<std::pair<std::int32_t, int>> named_{};  // devices (lane -2) and their tracks
  const std::chrono::system_clock::time_point day_ = std::chrono::system_clock::now();
  const std::chrono::steady_clock::time_point steady_ = std::chrono::steady_clock::now();
};

}  // namespace troupe
