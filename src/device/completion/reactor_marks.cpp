// Reads the marks of the current worker.
#include "device/completion/reactor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace troupe {

// Adds the requests that were sent before the last of them and have ended since their lane was
// read. When no more of these appear, everything that any of them can have waited for is included.
void reactor::add_earlier(lane_ends& ends) {
  const auto ticket_at = [&](lane& l, std::uint64_t place) {
    return records_[slot_at(l, place)].ticket;
  };
  std::uint64_t last = 0;
  for (std::uint32_t one = ends.lanes; one != 0; one &= one - 1) {
    const auto number = static_cast<std::size_t>(__builtin_ctz(one));
    last = std::max(last, ticket_at(lanes_[number], ends.of[number].completed));
  }
  for (bool more = true; more;) {
    more = false;
    for (std::uint32_t busy = busy_lanes_; busy != 0; busy &= busy - 1) {
      const auto number = static_cast<std::size_t>(__builtin_ctz(busy));
      lane& l = lanes_[number];
      const wire::lane_mark& mark = segment_->lanes[number];
      const std::uint64_t completed = mark.completed.load(std::memory_order_acquire);
      if (completed > l.first + l.count) walk();
      // An invalid mark ends no request. The next look at the marks reports it.
      if (completed < l.first || completed > l.first + l.count) continue;
      lane_end& end = ends.of[number];
      if ((ends.lanes >> number & 1) == 0) end.completed = l.first;
      ends.lanes |= 1u << number;
      end.replied = mark.replied.load(std::memory_order_relaxed);
      for (; end.completed < completed && ticket_at(l, end.completed + 1) < last; more = true)
        ++end.completed;
    }
  }
}

std::uint64_t reactor::started(std::uint8_t number) const noexcept {
  if (segment_ == nullptr) return 0;
  return wire::last_begun(segment_->lanes[number]);
}

bool reactor::mark_can_be(std::uint8_t number) const noexcept {
  if (segment_ == nullptr) return true;
  const lane& l = lanes_[number];
  const std::uint64_t completed = segment_->lanes[number].completed.load(std::memory_order_acquire);
  return completed >= l.first && completed - l.first <= l.count;
}

std::optional<std::uint64_t> reactor::only_suspect() const noexcept {
  std::optional<std::uint64_t> suspect;
  for (std::uint32_t busy = busy_lanes_; busy != 0; busy &= busy - 1) {
    const auto number = static_cast<std::uint8_t>(__builtin_ctz(busy));
    const lane& l = lanes_[number];
    if (l.count == 0 || given(number) <= l.first) continue;
    const record& first = records_[l.slots[(l.first + 1) & lane_ring_mask_]];
    if (first.withdrawn) continue;  // it is passed over, and no request behind it has begun
    if (suspect || wire::last_begun(segment_->lanes[number]) > l.first + 1) return std::nullopt;
    suspect = first.ticket;
  }
  return suspect;
}

std::string reactor::last_ended() const {
  std::string names;
  for (const lane& l : lanes_) {
    if (l.last_type == nullptr) continue;
    fmt::format_to(std::back_inserter(names), "{}{} #{}", names.empty() ? "" : ", ",
                   l.last_type->name, l.last_ticket);
  }
  return names;
}

std::uint64_t reactor::progress() const noexcept {
  std::uint64_t sum = 0;
  if (segment_ != nullptr) {
    for (const wire::lane_mark& mark : segment_->lanes) {
      sum += mark.started.load(std::memory_order_relaxed) +
             mark.completed.load(std::memory_order_relaxed);
    }
  }
  return sum;
}

}  // namespace troupe
