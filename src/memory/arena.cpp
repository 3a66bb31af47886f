#include "memory/arena.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

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
  bin& its = bins_[bin_of(size)];
  if (its.offsets.empty()) return cut(size);
  const std::uint64_t offset = its.offsets.back();
  its.offsets.pop_back();
  ++its.out;
  used_ += size;
  return piece{offset, size};
}

std::optional<arena::piece> arena::take_tight(std::uint64_t bytes) {
  return cut((std::max(bytes, granule_) + granule_ - 1) & ~(granule_ - 1));
}

std::optional<arena::piece> arena::cut(std::uint64_t size) {
  const auto fit = by_size_.lower_bound({size, 0});
  if (fit == by_size_.end()) return std::nullopt;
  const std::uint64_t offset = fit->second;
  const std::uint64_t rest = fit->first - size;
  // A bin holds one size; a piece of any other size was taken tightly and is rare.
  if (rounded(size) == size) {
    bin& its = bins_[bin_of(size)];
    const std::size_t wanted = its.offsets.size() + its.out + 1;
    if (its.offsets.capacity() < wanted) its.offsets.reserve(2 * wanted);
    ++its.out;
  }
  if (rest > 0) {
    change_free(free_.find(offset), {offset + size, rest});
  } else {
    erase_free(free_.find(offset));
  }
  used_ += size;
  return piece{offset, size};
}

void arena::give_back(piece unused) noexcept {
  used_ -= unused.bytes;
  if (rounded(unused.bytes) == unused.bytes) {
    bin& its = bins_[bin_of(unused.bytes)];
    --its.out;
    its.offsets.push_back(unused.offset);
    return;
  }
  try {
    insert_free(unused.offset, unused.bytes);
  } catch (const std::bad_alloc&) {
    used_ += unused.bytes;  // rare: this piece stays in use
  }
}

void arena::grow(std::uint64_t bytes) {
  insert_free(extent_, bytes);
  extent_ += bytes;
}

// Adjacent pieces are joined before they are added to the stretches: there may be a hundred
// thousand pieces, and few stretches of them.
void arena::coalesce() {
  std::size_t count = 0;
  for (const bin& one : bins_)
    count += one.offsets.size();
  std::vector<piece> pieces;
  pieces.reserve(count);
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const std::uint64_t power = std::uint64_t{1} << (i / steps);
    const std::uint64_t size = power + power / steps * (i % steps);
    for (const std::uint64_t offset : bins_[i].offsets)
      pieces.push_back({offset, size});
    bins_[i].offsets.clear();
  }
  std::ranges::sort(pieces, {}, &piece::offset);
  for (std::size_t next = 0; next < pieces.size();) {
    const std::size_t first = next;
    piece stretch = pieces[next++];
    for (; next < pieces.size() && stretch.offset + stretch.bytes == pieces[next].offset; ++next)
      stretch.bytes += pieces[next].bytes;
    try {
      insert_free(stretch.offset, stretch.bytes);
    } catch (const std::bad_alloc&) {
      for (std::size_t i = first; i < pieces.size(); ++i)
        bins_[bin_of(pieces[i].bytes)].offsets.push_back(pieces[i].offset);
      throw;
    }
  }
}

std::uint64_t arena::largest_free_bytes() const noexcept {
  return by_size_.empty() ? 0 : by_size_.rbegin()->first;
}

void arena::insert_free(std::uint64_t offset, std::uint64_t bytes) {
  const auto next = free_.lower_bound(offset);
  const bool joins_next = next != free_.end() && offset + bytes == next->first;
  if (joins_next) bytes += next->second;
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      change_free(before, {before->first, before->second + bytes});
      if (joins_next) erase_free(next);
      return;
    }
  }
  if (joins_next) return change_free(next, {offset, bytes});
  const auto made = free_.emplace(offset, bytes).first;
  try {
    by_size_.emplace(bytes, offset);
  } catch (const std::bad_alloc&) {
    free_.erase(made);
    throw;
  }
}

// Does not allocate.
void arena::change_free(stretches::iterator stretch, piece to) {
  auto size = by_size_.extract({stretch->second, stretch->first});
  auto place = free_.extract(stretch);
  size.value() = {to.bytes, to.offset};
  place.key() = to.offset;
  place.mapped() = to.bytes;
  by_size_.insert(std::move(size));
  free_.insert(std::move(place));
}

void arena::erase_free(stretches::iterator stretch) noexcept {
  by_size_.erase({stretch->second, stretch->first});
  free_.erase(stretch);
}

}  // namespace troupe
