#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe {

/// Which facts a system's devices record about their requests. Counts by operation and outcome are
/// always kept.
struct metrics_config {
  /// The times of one request in this many are taken, for `operation_telemetry::timed`, the tags'
  /// device time and the flight recorder. 1 is every request, 0 is none.
  std::uint32_t sample = 0;
  /// How many of these requests each device's flight recorder keeps.
  std::size_t flight_recorder = 16'384;
};

}  // namespace troupe
