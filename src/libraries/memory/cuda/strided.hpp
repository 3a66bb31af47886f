#pragma once

#include "libraries/memory/shared/strided_loops.hpp"

#include <algorithm>
#include <cstdint>

/// Assigns bytes to the threads of a kernel. All of it is constexpr: the host prepares it, kernels
/// use it, and tests run both without a GPU.
namespace troupe::cuda {

/// Threads per block and elements per thread, in every kernel over elements.
inline constexpr int block_threads = 256;
inline constexpr int thread_elements = 4;
inline constexpr std::int64_t block_elements = std::int64_t{block_threads} * thread_elements;
/// Tiles are square, with as many elements as a block.
inline constexpr int tile_side = 32;
inline constexpr int tile_rows = block_threads / tile_side;  ///< rows that the block does at a time
static_assert(tile_rows * thread_elements == tile_side);

/// Division of numbers below 2^31 by a number that is known before the kernel starts, from 1 to
/// 2^31. Source: T. Granlund, P. L. Montgomery, "Division by Invariant Integers using
/// Multiplication", 1994.
struct divider {
  std::uint32_t divisor = 1;
  std::uint32_t multiplier = 1;
  std::uint32_t shift = 0;

  divider() = default;
  constexpr explicit divider(std::uint32_t by) noexcept : divisor(by) {
    while ((std::uint64_t{1} << shift) < by)
      ++shift;
    const std::uint64_t excess = (std::uint64_t{1} << shift) - by;
    multiplier = static_cast<std::uint32_t>((excess << 32) / by + 1);
  }
  [[nodiscard]] constexpr std::uint32_t quotient(std::uint32_t n) const noexcept {
    const auto high = static_cast<std::uint32_t>((std::uint64_t{n} * multiplier) >> 32);
    return (high + n) >> shift;
  }
};

/// The loops over two views, as kernels iterate over them.
///
/// Linear: consecutive elements in the order of `to`, `block_elements` per block; a thread's
/// elements are `block_threads` apart. Tiled, if the fastest dimensions of `from` and `to` differ:
/// a block does a square of both dimensions, so that either side is accessed in whole cache lines.
struct strided_map {
  struct dimension {
    std::int64_t extent = 1;
    std::int64_t from = 0;  ///< strides, in bytes
    std::int64_t to = 0;
    divider steps;  ///< by the extent; for a tile's dimensions, by the number of tiles
  };
  struct place {
    std::int64_t from = 0;
    std::int64_t to = 0;
  };
  struct tile {
    place first;
    std::int32_t columns = 0;  ///< along dimension 0, the fastest of `to`
    std::int32_t rows = 0;     ///< along dimension 1, the fastest of `from`
  };

  dimension dimensions[max_rank];  ///< innermost first
  std::int64_t count = 1;
  std::int32_t rank = 1;
  bool tiled = false;
  bool narrow = false;  ///< the count fits in 31 bits

  strided_map() = default;
  constexpr strided_map(const elementwise::strided_loops& loops, bool may_tile) noexcept
      : rank(loops.rank) {
    for (int d = 0; d < rank; ++d) {
      const auto& loop = loops.dimensions[static_cast<std::size_t>(rank - 1 - d)];
      dimensions[d] = {loop.extent, loop.from, loop.to, {}};
      count *= loop.extent;
    }
    narrow = count < std::int64_t{1} << 31;
    if (may_tile) choose_tiles();
    for (int d = 0; d < rank; ++d) {
      const std::int64_t steps = tiled && d < 2 ? tiles(d) : dimensions[d].extent;
      // Larger values do not matter: the division is then done in 64 bits, or the launch is
      // refused.
      dimensions[d].steps = divider(
          static_cast<std::uint32_t>(std::clamp<std::int64_t>(steps, 1, std::int64_t{1} << 31)));
    }
  }

  /// The number of blocks. A launch accepts fewer than 2^31.
  [[nodiscard]] constexpr std::int64_t blocks() const noexcept {
    if (!tiled) return (count - 1) / block_elements + 1;
    std::int64_t product = tiles(0) * tiles(1);
    for (int d = 2; d < rank; ++d)
      product *= dimensions[d].extent;
    return product;
  }

  /// The place of the element number `index`. Precondition: index < count
  [[nodiscard]] constexpr place place_of(std::int64_t index) const noexcept {
    place at;
    if (narrow) {
      auto rest = static_cast<std::uint32_t>(index);
      for (int d = 0; d < rank - 1; ++d)
        step(at, d, next_index(d, rest));
      step(at, rank - 1, rest);
    } else {
      auto rest = static_cast<std::uint64_t>(index);
      for (int d = 0; d < rank - 1; ++d) {
        const auto extent = static_cast<std::uint64_t>(dimensions[d].extent);
        const std::uint64_t quotient = rest / extent;
        step(at, d, static_cast<std::int64_t>(rest - quotient * extent));
        rest = quotient;
      }
      step(at, rank - 1, static_cast<std::int64_t>(rest));
    }
    return at;
  }

  /// The tile of a block. Precondition: tiled
  [[nodiscard]] constexpr tile tile_of(std::uint32_t block) const noexcept {
    tile found;
    std::uint32_t rest = block;
    const std::int64_t column = next_index(0, rest) * tile_side;
    const std::int64_t row = next_index(1, rest) * tile_side;
    found.columns = static_cast<std::int32_t>(within_tile(dimensions[0].extent - column));
    found.rows = static_cast<std::int32_t>(within_tile(dimensions[1].extent - row));
    step(found.first, 0, column);
    step(found.first, 1, row);
    for (int d = 2; d < rank; ++d)
      step(found.first, d, next_index(d, rest));
    return found;
  }

 private:
  /// Splits the index of dimension `d` off `rest`, a combined index below 2^31.
  [[nodiscard]] constexpr std::int64_t next_index(int d, std::uint32_t& rest) const noexcept {
    const std::uint32_t quotient = dimensions[d].steps.quotient(rest);
    const std::uint32_t index = rest - quotient * dimensions[d].steps.divisor;
    rest = quotient;
    return index;
  }
  [[nodiscard]] static constexpr std::int64_t within_tile(std::int64_t left) noexcept {
    return left < tile_side ? left : tile_side;
  }
  constexpr void step(place& at, int d, std::int64_t index) const noexcept {
    at.from += index * dimensions[d].from;
    at.to += index * dimensions[d].to;
  }
  [[nodiscard]] constexpr std::int64_t tiles(int d) const noexcept {
    return (dimensions[d].extent - 1) / tile_side + 1;
  }

  constexpr void choose_tiles() noexcept {
    // Less than half a tile is not worth tiling. Beyond a sector apart, no order of `from` helps.
    constexpr std::int64_t least_extent = tile_side / 2;
    constexpr std::int64_t sector_bytes = 32;
    int fastest = 0;
    for (int d = 1; d < rank; ++d) {
      const dimension& one = dimensions[d];
      if (one.from > 0 && one.from < dimensions[fastest].from) fastest = d;
    }
    if (fastest == 0 || dimensions[fastest].from > sector_bytes ||
        dimensions[fastest].extent < least_extent || dimensions[0].extent < least_extent) {
      return;
    }
    tiled = true;
    std::swap(dimensions[1], dimensions[fastest]);
  }
};

}  // namespace troupe::cuda
