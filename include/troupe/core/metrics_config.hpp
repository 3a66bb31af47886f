#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe {

/// Which facts a system's devices record about their requests. Counts by operation and outcome are
/// always kept.
struct metrics_config {
  /// The times of one request in this many are taken, drawn at random, for
  /// `operation_telemetry::timed`, the tags' device time and the flight recorder. 1 is every
  /// request, 0 is none. Its worker takes the times: on a GPU by two stamps beside the request.
  std::uint32_t sample = 64;
  /// How many requests each device's flight recorder keeps: those with times, and all that failed.
  std::size_t flight_recorder = 4096;
};

}  // namespace troupe
