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

/// What a request must wait for: for each lane in `lanes`, that it has completed `need[lane]`
/// requests. Lanes run in order, so the latest place of a lane stands for all before it.
struct dependencies {
  std::uint32_t lanes = 0;  ///< bit per lane
  std::array<std::uint64_t, wire::max_lanes> need;
  /// The last request of the same lane that reads what this one writes; 0 for none. It comes before
  /// in any case; but once this one may have run, that one cannot be run again.
  std::uint64_t read_before = 0;

  void add(int lane, std::uint64_t place) noexcept {
    const auto l = static_cast<std::size_t>(lane);
    const std::uint32_t bit = 1u << lane;
    if ((lanes & bit) == 0 || need[l] < place) need[l] = place;
    lanes |= bit;
  }
};

/// Orders requests of different lanes by what they read and write: read after write, write after
/// read and write after write on overlapping bytes wait; everything else runs freely. Requests of
/// one lane are in order already.
///
/// Of a request with more operands than `most_apart` no more than that many ranges of a buffer are
/// remembered that it reads, and as many that it writes. Operands that touch or overlap become one
/// first, which changes nothing; where that is not enough, neighbours become one with what lies
/// between them. So with such a request another may be ordered though their bytes only lie close
/// to each other, never the other way round; and two of them do not compare all of their operands.
///
/// Touched only by the thread that reads the mailbox. `completed` counts may be too small, which
/// merely keeps a record a little longer. They are read with acquire: what is over is waited for by
/// nobody, so whoever runs what depends on it has its bytes from here, by way of this thread.
class hazard_tracker {
 public:
  using completed_counts = std::array<std::atomic<std::uint64_t>, wire::max_lanes>;

  static constexpr std::size_t most_apart = 64;

  explicit hazard_tracker(const completed_counts& completed) noexcept : completed_(completed) {}

  /// Notes that the request at `place` of `lane` uses these operands, and answers what it must wait
  /// for. Requests are admitted in the order in which they were sent.
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

  /// The same bytes or some more, in few operands. Valid until the next call.
  [[nodiscard]] std::span<const wire::operand> merged(std::span<const wire::operand> operands);

  const completed_counts& completed_;
  std::array<std::vector<std::vector<use>>, 2> uses_;  // by space and buffer
  std::vector<wire::byte_range> ranges_;               // of `merged`, as what it answers
  std::vector<wire::operand> merged_;
};

}  // namespace troupe::worker
