#include "memory/slab_store.hpp"

#include "os/limits.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace troupe {

slab_store::slab_store(std::shared_ptr<device_source> source, std::uint64_t range_bytes,
                       std::uint64_t limit_bytes)
    : source_(std::move(source)),
      limit_(limit_bytes),
      small_(alignment_bytes),
      large_(source_->granule_bytes()) {
  const std::uint64_t granule = source_->granule_bytes();
  large_.grow((range_bytes - shared_zone_bytes) / granule * granule);
}

result<arena::piece> slab_store::take(std::uint64_t bytes, bool own_slab) {
  if (bytes < own_slab_bytes && !own_slab) {
    if (auto piece = small_.take(bytes)) return *piece;
    const std::uint64_t extent = small_.extent_bytes();
    if (extent + shared_slab_bytes <= shared_zone_bytes) {
      if (auto added = add_slab(extent, shared_slab_bytes); !added) {
        // The rest of pieces of other sizes may suffice.
        small_.coalesce();
        if (auto piece = small_.take(bytes)) return *piece;
        return std::move(added).error();
      }
      slabs_.at(extent).used = true;
      small_.grow(shared_slab_bytes);
      if (auto piece = small_.take(bytes)) return *piece;
    }
  }
  auto taken = take_slab(large_.take(bytes), bytes);
  // Rounded only to granules it may still fit. That size is not requested again soon, so its slab
  // is freed with it.
  if (!taken) {
    if (auto tight = take_slab(large_.take_tight(bytes), bytes)) return tight;
  }
  return taken;
}

result<arena::piece> slab_store::take_slab(std::optional<arena::piece> piece, std::uint64_t bytes) {
  if (!piece) {
    return error{.code = errc::out_of_memory,
                 .message = fmt::format("no address range of {} bytes is left", bytes)};
  }
  const std::uint64_t offset = piece->offset + shared_zone_bytes;
  const auto found = slabs_.find(offset);
  if (found != slabs_.end()) {
    found->second.used = true;
  } else if (auto added = add_slab(offset, piece->bytes); !added) {
    large_.give_back(*piece);
    return std::move(added).error();
  } else {
    slabs_.at(offset).used = true;
  }
  return arena::piece{offset, piece->bytes};
}

result<void> slab_store::add_slab(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes > limit_ - committed_) {
    return error{.code = errc::out_of_memory,
                 .message = fmt::format("{} bytes more than {} would exceed the limit of {}", bytes,
                                        committed_, limit_)};
  }
  auto slab = source_->allocate(bytes);
  if (!slab) {
    error why = std::move(slab).error();
    // The driver reports this as lack of memory.
    if (const std::string lack = os::lack_of_descriptors(); !lack.empty()) {
      why.message = fmt::format("{} (each tensor of {} KiB or more holds one; {} are there)", lack,
                                own_slab_bytes >> 10, slabs_.size());
    }
    return why;
  }
  held_slab& held = slabs_[offset];
  held.place = {offset, bytes, *std::move(slab)};
  committed_ += bytes;
  if (listener_) listener_(held.place, true);
  return {};
}

void slab_store::give_back(arena::piece unused) {
  if (!owns_slab(unused.offset)) return small_.give_back(unused);
  const auto slab = slabs_.find(unused.offset);
  slab->second.used = false;
  if (large_.rounded(unused.bytes) != unused.bytes) drop(slab);
  large_.give_back({unused.offset - shared_zone_bytes, unused.bytes});
}

slab_store::slabs::iterator slab_store::drop(slabs::iterator unused) {
  committed_ -= unused->second.place.bytes;
  if (listener_) listener_(unused->second.place, false);
  return slabs_.erase(unused);
}

const slab_place* slab_store::find(std::uint64_t offset) const noexcept {
  const auto next = slabs_.upper_bound(offset);
  if (next == slabs_.begin()) return nullptr;
  const slab_place& place = std::prev(next)->second.place;
  return offset - place.offset < place.bytes ? &place : nullptr;
}

bool slab_store::release_unused() {
  const std::size_t before = slabs_.size();
  for (auto slab = slabs_.begin(); slab != slabs_.end();)
    slab = slab->second.used ? std::next(slab) : drop(slab);
  // Only now may neighbours be joined: a free piece with a slab behind it has to stay as it is.
  large_.coalesce();
  return slabs_.size() != before;
}

}  // namespace troupe
