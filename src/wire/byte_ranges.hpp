#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// What long lists of operands have in common, without comparing each with each: lists are sorted,
/// which costs n log n, and gone through once.
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

/// Sorts by buffer and place, and makes one of those that touch or overlap: the same bytes in the
/// fewest ranges. Empty ones are dropped.
void join(std::vector<byte_range>& ranges);

/// Makes one of neighbours until no buffer has more than `most` ranges, which is at least 1: those
/// go first that have the least between them, and that is in the range from then on. Takes what
/// `join` has left, and leaves the same.
void coarsen(std::vector<byte_range>& joined, std::size_t most);

/// True when a byte is in both lists, each of which `join` has left.
[[nodiscard]] bool meet(std::span<const byte_range> one,
                        std::span<const byte_range> other) noexcept;

}  // namespace troupe::wire
