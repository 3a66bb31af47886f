#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Intersects long lists of operands without comparing each with each: lists are sorted, which
/// costs n log n, and traversed once.
namespace troupe::wire {

/// Lists up to this length are compared each with each, which takes no memory.
inline constexpr std::size_t few_operands = 32;

/// Bytes of one buffer.
struct byte_range {
  std::uint64_t buffer = 0;  ///< any number that tells buffers apart
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool operator==(const byte_range&) const = default;
};

/// Sorts by buffer and place, and joins ranges that touch or overlap: the same bytes in the fewest
/// ranges. Empty ones are dropped.
void join(std::vector<byte_range>& ranges);

/// Joins neighbours until no buffer has more than `most` ranges, at least 1. Those with the
/// smallest gaps are joined first, and the gap is in the range from then on. Takes the result of
/// `join`, and keeps its form.
void coarsen(std::vector<byte_range>& joined, std::size_t most);

/// True if any byte is in both lists, each of them a result of `join`.
[[nodiscard]] bool meet(std::span<const byte_range> one,
                        std::span<const byte_range> other) noexcept;

}  // namespace troupe::wire
