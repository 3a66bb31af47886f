#include "memory/arena.hpp"

#include <algorithm>
#include <bit>

namespace troupe {

arena::arena(std::uint64_t granule_bytes)
    : granule_(granule_bytes), bins_(std::size_t{64} * steps) {}

std::uint64_t arena::rounded(std::uint64_t bytes) const noexcept {
  bytes = std::max(bytes, granule_);
  const std::uint64_t power = std::bit_floor(bytes);
  const std::uint64_t step = std::max(power / steps, granule_);
  return (bytes + step - 1) & ~(step - 1);
}

std::size_t arena::bin_of(std::uint64_t rounded) noexcept {
  const std::uint64_t power = std::bit_floor(rounded);
  const auto doubling = static_cast<std::size_t>(std::countr_zero(power));
  return doubling * steps + static_cast<std::size_t>((rounded - power) * steps / power);
}

std::optional<arena::piece> arena::take(std::uint64_t bytes) {
  const std::uint64_t size = rounded(bytes);
  std::vector<std::uint64_t>& bin = bins_[bin_of(size)];
  if (!bin.empty()) {
    const std::uint64_t offset = bin.back();
    bin.pop_back();
    used_ += size;
    return piece{offset, size};
  }
  return cut(size);
}

std::optional<arena::piece> arena::take_tight(std::uint64_t bytes) {
  return cut((std::max(bytes, granule_) + granule_ - 1) & ~(granule_ - 1));
}

std::optional<arena::piece> arena::cut(std::uint64_t size) {
  const auto fit = by_size_.lower_bound({size, 0});
  if (fit == by_size_.end()) return std::nullopt;
  const std::uint64_t offset = fit->second;
  const std::uint64_t rest = fit->first - size;
  erase_free(free_.find(offset));
  if (rest > 0) insert_free(offset + size, rest);
  used_ += size;
  return piece{offset, size};
}

void arena::give_back(piece unused) {
  used_ -= unused.bytes;
  // A bin holds one size; a piece of any other was taken tightly and is rare.
  if (rounded(unused.bytes) != unused.bytes) return insert_free(unused.offset, unused.bytes);
  bins_[bin_of(unused.bytes)].push_back(unused.offset);
}

void arena::grow(std::uint64_t bytes) {
  insert_free(extent_, bytes);
  extent_ += bytes;
}

// What lies beside each other becomes one before it comes among the stretches: there may be a
// hundred thousand pieces, and few stretches of them.
void arena::coalesce() {
  std::vector<piece> pieces;
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    const std::uint64_t power = std::uint64_t{1} << (bin / steps);
    const std::uint64_t size = power + power / steps * (bin % steps);
    for (const std::uint64_t offset : bins_[bin])
      pieces.push_back({offset, size});
    bins_[bin].clear();
  }
  std::ranges::sort(pieces, {}, &piece::offset);
  for (std::size_t next = 0; next < pieces.size();) {
    piece stretch = pieces[next++];
    for (; next < pieces.size() && stretch.offset + stretch.bytes == pieces[next].offset; ++next)
      stretch.bytes += pieces[next].bytes;
    insert_free(stretch.offset, stretch.bytes);
  }
}

std::uint64_t arena::largest_free_bytes() const noexcept {
  return by_size_.empty() ? 0 : by_size_.rbegin()->first;
}

void arena::insert_free(std::uint64_t offset, std::uint64_t bytes) {
  const auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + bytes == next->first) {
    bytes += next->second;
    erase_free(next);
  }
  const auto after = free_.lower_bound(offset);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      erase_free(before);
    }
  }
  free_.emplace(offset, bytes);
  by_size_.emplace(bytes, offset);
}

void arena::erase_free(std::map<std::uint64_t, std::uint64_t>::iterator stretch) {
  by_size_.erase({stretch->second, stretch->first});
  free_.erase(stretch);
}

}  // namespace troupe
