#pragma once

#include "wire/world_words.hpp"

#include <troupe/plugin/executor.hpp>
#include <troupe/request/world_part.hpp>

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// How one launch of a part finds the words of its world. A part may take several launches, each
/// with steps of its own: all ranks make the same ones.
struct part_launch {
  std::byte* words[wire::max_peers];  ///< by rank
  const std::byte* dropped;           ///< a word for each block, `sizeof(drop_word)` apart
  std::uint64_t trusted;  ///< the connection by which NCCL has made the output before; 0: none
  std::uint64_t operation;
  std::uint64_t step;        ///< the number of its first step in the operation
  std::int64_t slice_bytes;  ///< of each slot, for each block
  int ranks;
  int rank;
  bool is_last;

  part_launch(const world_part& part, const lane_context& lane, std::uint64_t by_nccl) noexcept
      : dropped(part.page.address() + offsetof(wire::world_page, dropped)),
        trusted(by_nccl),
        operation(lane.sequence()),
        step(0),
        slice_bytes((part.words.front().count() - std::int64_t{wire::device_staging_offset}) /
                    slots / wire::blocks_of_part),
        ranks(part.ranks()),
        rank(static_cast<int>(part.rank)),
        is_last(false) {
    for (int peer = 0; peer < ranks; ++peer)
      words[peer] = part.words[static_cast<std::size_t>(peer)].address();
  }

 private:
  static constexpr std::int64_t slots = 4;
};

/// The most tensors of all ranks in one launch.
inline constexpr int most_tensors = wire::max_peers;

}  // namespace troupe::cuda
