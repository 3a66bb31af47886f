#include "device/local/device_lanes.hpp"

#include "wire/layout.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace troupe {
namespace {

constexpr std::uint32_t mapping_lanes = device_endpoint::mapping_lanes;
constexpr std::uint32_t first_mapping_lane = wire::max_lanes - mapping_lanes;
constexpr std::uint32_t library_lanes_end = wire::world_lane;
static_assert(mapping_lanes == wire::mapping_lanes && library_lanes_end < first_mapping_lane);

// The holder of the lanes owns the name.
device_lanes::library_lanes with_name(std::string_view library,
                                      std::shared_ptr<detail::lane_group> lanes) {
  struct named_lanes {
    std::string library;
    std::shared_ptr<detail::lane_group> lanes;
  };
  auto both = std::make_shared<named_lanes>(std::string(library), std::move(lanes));
  return {.library = both->library, .lanes = {both, both->lanes.get()}};
}

// Makes a group of `n` consecutive lanes, modulo the number of lanes.
std::shared_ptr<detail::lane_group> lanes_from(std::uint32_t first, int n) {
  std::vector<std::uint8_t> lanes(static_cast<std::size_t>(std::clamp(n, 1, wire::max_lanes)));
  for (std::uint8_t& lane : lanes)
    lane = static_cast<std::uint8_t>(first++ % library_lanes_end);
  return std::make_shared<detail::lane_group>(std::move(lanes));
}

}  // namespace

device_lanes::library_lanes device_lanes::of(std::string_view library) {
  const std::lock_guard lock(mutex_);
  return find(library);
}

// With the mutex.
device_lanes::library_lanes device_lanes::find(std::string_view library) {
  // There may be any number of names. Beyond this many, lanes are derived from the name alone.
  constexpr auto most_kept = std::size_t{2} * wire::max_lanes;
  const auto found = libraries_.find(std::string(library));
  if (found != libraries_.end()) return found->second;
  const bool kept = libraries_.size() < most_kept;
  std::shared_ptr<detail::lane_group> lanes;
  if (policy_.what == lane_policy::kind::one) {
    if (!common_lane_) common_lane_ = next_lanes(1);
    lanes = common_lane_;
  } else if (kept) {
    lanes = next_lanes(wanted());
  } else {
    lanes = lanes_from(static_cast<std::uint32_t>(detail::hash_of(library)), wanted());
  }
  library_lanes named = with_name(library, std::move(lanes));
  if (kept) libraries_.emplace(library, named);
  return named;
}

std::uint8_t device_lanes::remember(const request_type& type) {
  const std::lock_guard lock(mutex_);
  std::size_t place = type.id;
  for (; const of_type* found = at(place); ++place) {
    if (found->id == type.id) return found->lanes->pick();
  }
  const library_lanes own = find(type.library());
  if (known_types_.size() < places / 2) {
    const of_type& kept = known_types_.emplace_back(of_type{.id = type.id, .lanes = own.lanes});
    types_[place % places].store(&kept, std::memory_order_release);
  }
  return own.lanes->pick();
}

device_lanes::library_lanes device_lanes::make(std::string_view library, int n) {
  return with_name(library, next_lanes(n));
}

std::shared_ptr<detail::lane_group> device_lanes::next_lanes(int n) {
  n = std::clamp(n, 1, wire::max_lanes);
  return lanes_from(next_lane_.fetch_add(static_cast<std::uint32_t>(n), std::memory_order_relaxed),
                    n);
}

std::optional<std::uint8_t> device_lanes::take_for_mapping() noexcept {
  std::uint32_t taken = mapping_.load(std::memory_order_relaxed);
  for (;;) {
    const auto free = static_cast<std::uint32_t>(std::countr_one(taken));
    if (free >= mapping_lanes) return std::nullopt;
    if (mapping_.compare_exchange_weak(taken, taken | 1u << free, std::memory_order_relaxed)) {
      return static_cast<std::uint8_t>(first_mapping_lane + free);
    }
  }
}

void device_lanes::leave_mapping(std::uint8_t lane) noexcept {
  mapping_.fetch_and(~(1u << (lane - first_mapping_lane)), std::memory_order_relaxed);
}

}  // namespace troupe
