#pragma once

#include "wire/byte_ranges.hpp"
#include "wire/codec.hpp"
#include "wire/layout.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::worker {

/// The dependencies of a request: for each lane in `lanes`, it waits until that lane has completed
/// `need[lane]` requests. Lanes run in order, so a lane's latest place stands for all before it.
struct dependencies {
  std::uint32_t lanes = 0;  ///< bit per lane
  std::array<std::uint64_t, wire::max_lanes> need;
  /// The last request of the same lane that reads an output of this one; 0 for none. It runs first
  /// in any case; but once this one may have run, that one cannot run again.
  std::uint64_t read_before = 0;

  void add(int lane, std::uint64_t place) noexcept {
    const auto l = static_cast<std::size_t>(lane);
    const std::uint32_t bit = 1u << lane;
    if ((lanes & bit) == 0 || need[l] < place) need[l] = place;
    lanes |= bit;
  }
};

/// Orders requests of different lanes by their reads and writes: read after write, write after read
/// and write after write on overlapping bytes wait; everything else runs freely. Requests of one
/// lane are in order already.
///
/// For a request with more operands than `most_apart`, at most that many ranges of a buffer are
/// recorded as read, and as many as written. Operands that touch or overlap are joined first, which
/// changes nothing; if that is not enough, neighbours are joined with the bytes between them. So
/// such a request may be ordered with another whose bytes are only close to its own, but never left
/// unordered; and two of them do not compare all of their operands.
///
/// Used only by the thread that reads the mailbox. `completed` counts may be too small, which
/// merely keeps a record a little longer. They are read with acquire: no request waits for one that
/// is over, so the thread that runs its dependent sees its bytes through this thread.
class hazard_tracker {
 public:
  using completed_counts = std::array<std::atomic<std::uint64_t>, wire::max_lanes>;

  static constexpr std::size_t most_apart = 64;

  explicit hazard_tracker(const completed_counts& completed) noexcept : completed_(completed) {}

  /// Records that the request at `place` of `lane` uses these operands, and computes its
  /// dependencies. Requests are admitted in the order in which they were sent.
  void admit(int lane, std::uint64_t place, std::span<const wire::operand> operands,
             dependencies& waits);

 private:
  struct use {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t place = 0;
    std::uint8_t lane = 0;
    bool writes = false;
  };

  [[nodiscard]] bool done(const use& u) const noexcept {
    return completed_[u.lane].load(std::memory_order_acquire) >= u.place;
  }

  /// The same bytes or more, in fewer operands. Valid until the next call.
  [[nodiscard]] std::span<const wire::operand> merged(std::span<const wire::operand> operands);

  const completed_counts& completed_;
  std::array<std::vector<std::vector<use>>, wire::pool_count> uses_;  // by pool and buffer
  std::vector<wire::byte_range> ranges_;  // of `merged`, as is its result
  std::vector<wire::operand> merged_;
};

}  // namespace troupe::worker
