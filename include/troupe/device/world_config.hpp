#pragma once

#include <troupe/base/error.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// The settings of a world.
struct world_config {
  /// Memory of each rank through which operations in place, and short ones, pass. Larger operations
  /// pass in pieces of a quarter of it. At least `least_staging`.
  std::int64_t staging_bytes = std::int64_t{16} << 20;
  static constexpr std::int64_t least_staging = std::int64_t{16} << 10;
  /// The time that the parts of an operation may run together, counted from when all ranks are
  /// observed to run theirs: a late rank costs no other its time. Beyond it the operation fails
  /// with `errc::aborted`, and the worker of a rank that has not left its part 1 s later is ended.
  /// By default the longest `device_config::run_limit` of the devices; `max()` means no limit.
  std::optional<std::chrono::nanoseconds> run_limit{};
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
  /// Of the last one that failed.
  std::optional<error> last_failure;
  std::vector<world_operation> under_way;
};

}  // namespace troupe
