#pragma once

#include <troupe/base/error.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// The means that move the data of a world.
enum class transport : std::uint8_t {
  /// Kernels of Troupe's own; and once `collective::connect` was sent, NCCL for operations that are
  /// longer than they are good for, if NCCL may do them.
  automatic,
  /// Kernels of Troupe's own.
  peer,
  /// NCCL, which is connected in the background when the world is made, and again after a rank was
  /// lost; until that is done, kernels of Troupe's own. Requests that NCCL cannot do, or may not,
  /// are refused with `errc::unsupported` and the reason.
  nccl,
};

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
  troupe::transport transport = troupe::transport::automatic;
  /// The same bits on all ranks and in every run, which NCCL does not promise: excludes it.
  bool deterministic = false;
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

/// NCCL's communicator of a world.
struct nccl_health {
  enum class connection : std::uint8_t { none, under_way, ready, broken };
  connection state = connection::none;
  std::uint64_t attempts = 0;    ///< to connect, so far
  std::uint64_t operations = 0;  ///< that were sent by way of NCCL
  /// Why a rank could not connect, or lost the connection, if NCCL said so.
  std::string reason{};
};

/// The state of a world at one moment.
struct world_health {
  std::uint64_t operations = 0;  ///< sent so far
  std::uint64_t failed = 0;      ///< of those that have ended
  /// Of the last one that failed.
  std::optional<error> last_failure;
  std::vector<world_operation> under_way;
  nccl_health nccl;
};

}  // namespace troupe
