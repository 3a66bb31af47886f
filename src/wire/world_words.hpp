#pragma once

#include "wire/pools.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

/// The words of a world, in host memory of the program; see the protocol in
/// `libraries/collective/shared/words.hpp`. They outlive workers.
namespace troupe::wire {

/// The words of one rank; its slots for staged input follow at `staging_offset`.
struct rank_words {
  /// Written by the rank itself.
  alignas(64) std::atomic<std::uint64_t> own{0};
  std::atomic<std::uint64_t> staged{0};
  /// Written by the peers, polled by the rank.
  alignas(64) std::atomic<std::uint64_t> start[max_peers]{};
  alignas(64) std::atomic<std::uint64_t> done[max_peers]{};
};
inline constexpr std::size_t staging_offset = 4096;
static_assert(sizeof(rank_words) <= staging_offset);

/// On GPUs each block of threads keeps step with the peers' blocks of its number: a rank has words
/// for every block, one behind the other, and each block has its own part of every slot. A part
/// always has this many blocks, because a block that made no step would not know how far its peers
/// have come.
inline constexpr int blocks_of_part = 32;
inline constexpr std::size_t device_staging_offset = std::size_t{64} << 10;
static_assert(blocks_of_part * sizeof(rank_words) <= device_staging_offset);

/// The words of the whole world.
struct world_page {
  /// The last operation that the program has given up. Release: a rank that sees it (acquire) may
  /// go on without that operation. Each block of threads has a copy in a line of its own: looks of
  /// 32 blocks at one line of host memory come one after the other, 34 us instead of 3 (H200).
  /// Beside it the last connection that is broken, see `nccl_rank`.
  struct drop_word {
    alignas(64) std::atomic<std::uint64_t> operation{0};
    std::atomic<std::uint64_t> broken{0};
  };
  drop_word dropped[blocks_of_part]{};
  /// A rank that waits for others sleeps on `rung`. It sets `asleep`, fences, and looks at its
  /// words once more; who writes them fences and looks at `asleep`: one of the two sees the other.
  struct bell {
    alignas(64) std::atomic<std::uint32_t> rung{0};
    std::atomic<std::uint32_t> asleep{0};
  };
  bell bells[max_peers]{};
  /// A connection is a communicator of NCCL with a part in a worker of each rank. Its number is
  /// that of the operation that has begun to make it. The first to find that a part is gone marks
  /// it as broken, with all earlier ones.
  struct nccl_rank {
    /// The last connection that this rank waits to make, has made, and could not make.
    alignas(64) std::atomic<std::uint64_t> arrived{0};
    std::atomic<std::uint64_t> connected{0};
    std::atomic<std::uint64_t> failed{0};
    char why[168]{};  // text, ends with 0; written before `failed`
  };
  nccl_rank nccl[max_peers]{};
  /// Written by rank 0 for the others. `id_of` is the connection; 0 while it is being written.
  alignas(64) std::atomic<std::uint64_t> id_of{0};
  std::byte id[128]{};
};

}  // namespace troupe::wire
