#pragma once

#include <troupe/request/request.hpp>
#include <troupe/request/world_part.hpp>

namespace troupe::collective {

/// Begins to make a communicator of NCCL for the world, in the background; ends when all ranks have
/// begun. `world_health::nccl` says when it is ready. After that the world may use NCCL
/// (`world_config::transport`), and connects again by itself when a rank was lost.
///
/// \errors `library_missing` and `version_mismatch`, as the cause of `aborted`: the workers find no
/// NCCL of version 2.14 or later; `unsupported` where NCCL may not be used (`transport::peer`,
/// `deterministic`, less than two GPUs, two ranks on one GPU, no access between GPUs)
struct TROUPE_EXPORT connect {
  static constexpr std::string_view name = "collective.connect";
  using reply = void;

  world_part part{};

  static void describe(description<connect>& d);
};

}  // namespace troupe::collective
