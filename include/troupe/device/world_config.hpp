#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// The settings of a world.
struct world_config {
  /// Memory of each rank through which operations in place, and short ones, pass. Larger operations
  /// pass in pieces of a quarter of it. At least `least_staging`.
  std::int64_t staging_bytes = std::int64_t{16} << 20;
  static constexpr std::int64_t least_staging = std::int64_t{16} << 10;
};

/// An operation of a world that has not ended on all ranks.
struct world_operation {
  std::uint64_t number = 0;  ///< in the order of the world, from 1
  std::string request;       ///< its name
  /// How far a rank has come with its part. A part waits for earlier requests of its device, and
  /// while the device recovers.
  enum class progress : std::uint8_t { waits, runs, has_ended };
  std::vector<progress> ranks;
};

/// The state of a world at one moment.
struct world_health {
  std::uint64_t operations = 0;  ///< sent so far
  std::uint64_t failed = 0;      ///< of those that have ended
  std::vector<world_operation> under_way;
};

}  // namespace troupe
