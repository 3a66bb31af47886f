#pragma once

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>

/// Which algorithm the reductions of a world take. All ranks decide alike, and so does the program.
namespace troupe::wire {

enum class algorithm : std::uint8_t {
  staged,    ///< through slots, in pieces: one wait for each
  direct,    ///< each rank reads all inputs: two waits, n - 1 times the bytes from peers
  two_shot,  ///< each rank reduces a slice, and reads those of its peers: three waits, 2 (n - 1) /
             ///< n times the bytes
  sliced,    ///< the same in pieces through slots, in place: one wait for each, and one
};

/// Limits in bytes of input of a rank. A longer one than `most_staged` is direct, from
/// `least_two_shot` on it is two_shot, and from `least_nccl` on it goes by NCCL, if that is
/// connected and may be used. In place, one from `least_sliced` on is sliced, a shorter one staged.
struct reduction_limits {
  int most_ranks;
  std::int64_t most_staged;
  std::int64_t least_sliced;
  std::int64_t least_two_shot;
  std::int64_t least_nccl;
};

inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
// Those of two ranks are measured on H200s, the others not yet.
inline constexpr reduction_limits of_gpus[] = {
    {2, std::int64_t{1} << 20, std::int64_t{4} << 20, never, never},
    {4, std::int64_t{256} << 10, std::int64_t{1} << 20, std::int64_t{512} << 10,
     std::int64_t{32} << 20},
    {64, std::int64_t{128} << 10, std::int64_t{512} << 10, std::int64_t{128} << 10,
     std::int64_t{512} << 10},
};
// The processor's cache holds what is staged.
inline constexpr reduction_limits of_processors[] = {
    {2, std::int64_t{128} << 10, std::int64_t{256} << 10, never, never},
    {64, std::int64_t{64} << 10, std::int64_t{256} << 10, std::int64_t{256} << 10, never},
};

[[nodiscard]] constexpr const reduction_limits& limits_for(bool on_gpus, int ranks) noexcept {
  const reduction_limits* row = on_gpus ? of_gpus : of_processors;
  while (row->most_ranks < ranks)
    ++row;
  return *row;
}

/// Whether an algorithm is prescribed by TROUPE_COLLECTIVE_ALGORITHM in the environment of workers:
/// for measurements.
[[nodiscard]] inline std::string_view prescribed_algorithm() {
  static const char* const text =
      std::getenv("TROUPE_COLLECTIVE_ALGORITHM");  // NOLINT(concurrency-mt-unsafe)
  return text != nullptr ? text : "";
}

/// That of an `all_reduce` or `reduce`. Only an `all_reduce` may be in slices. Input is staged if
/// peers cannot read it, and if a rank's output is in its place unless that is sliced.
[[nodiscard]] inline algorithm algorithm_for(bool on_gpus, int ranks, std::int64_t bytes,
                                             bool in_place, bool through_host, bool may_slice) {
  const reduction_limits& limits = limits_for(on_gpus, ranks);
  const std::string_view wanted = prescribed_algorithm();
  if (through_host || wanted == "staged") return algorithm::staged;
  if (in_place) {
    const bool is_sliced = wanted == "sliced" || bytes >= limits.least_sliced;
    return may_slice && is_sliced ? algorithm::sliced : algorithm::staged;
  }
  if (may_slice && wanted == "two_shot") return algorithm::two_shot;
  if (wanted == "direct") return algorithm::direct;
  if (bytes <= limits.most_staged) return algorithm::staged;
  return may_slice && bytes >= limits.least_two_shot ? algorithm::two_shot : algorithm::direct;
}

}  // namespace troupe::wire
