#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace troupe {

/// Hands out pieces of an address range that grows at its end. Works on offsets alone and touches
/// no memory. Sizes are rounded up to eight steps per doubling, and a freed piece waits in the bin
/// of its size for the next request of that size; only if a bin is empty are neighbours joined. Not
/// thread-safe: its pool locks. If memory for its own bookkeeping is exhausted (`bad_alloc`),
/// nothing has changed.
class arena {
 public:
  struct piece {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;  ///< as handed out, at least what was asked
  };

  /// `granule_bytes`: a power of two, at least 8; every piece starts and ends at a multiple of it.
  explicit arena(std::uint64_t granule_bytes);

  /// The size that `take` would hand out.
  [[nodiscard]] std::uint64_t rounded(std::uint64_t bytes) const noexcept;
  /// A piece, or nothing if the range must grow (or memory is exhausted).
  [[nodiscard]] std::optional<piece> take(std::uint64_t bytes);
  /// The same, rounded only to granules: may succeed where `take` does not.
  [[nodiscard]] std::optional<piece> take_tight(std::uint64_t bytes);
  /// Does not allocate: the memory it needs was reserved when the piece was taken.
  void give_back(piece unused) noexcept;

  /// Adds `bytes` of memory at the end of the range.
  void grow(std::uint64_t bytes);
  /// Empties the bins and joins neighbours.
  void coalesce();

  [[nodiscard]] std::uint64_t extent_bytes() const noexcept { return extent_; }
  [[nodiscard]] std::uint64_t used_bytes() const noexcept { return used_; }
  /// The largest piece that is available without growing, once coalesced.
  [[nodiscard]] std::uint64_t largest_free_bytes() const noexcept;
  /// The free stretches, once coalesced.
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& free_stretches() const noexcept {
    return free_;
  }

 private:
  static constexpr int steps = 8;  // per doubling

  struct bin {
    std::vector<std::uint64_t> offsets;  // last in first out, with capacity for all pieces in use
    std::size_t out = 0;                 // pieces that come back into it
  };
  using stretches = std::map<std::uint64_t, std::uint64_t>;

  [[nodiscard]] static std::size_t bin_of(std::uint64_t rounded) noexcept;
  [[nodiscard]] std::optional<piece> cut(std::uint64_t size);
  void insert_free(std::uint64_t offset, std::uint64_t bytes);
  void change_free(stretches::iterator stretch, piece to);
  void erase_free(stretches::iterator stretch) noexcept;

  std::uint64_t granule_;
  std::uint64_t extent_ = 0;
  std::uint64_t used_ = 0;
  std::vector<bin> bins_;  // by size step
  stretches free_;         // offset → bytes, never adjacent
  // Bytes and offset of the same stretches. A set, because thousands may have the same size.
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;
};

}  // namespace troupe
