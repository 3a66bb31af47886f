#include "device/completion/lane_walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>

namespace troupe {

lane_walk::lane_walk(mailbox& requests, record* records, const taint_watch& taints,
                     protocol_violation& violation)
    : requests_(requests),
      records_(records),
      taints_(taints),
      violation_(violation),
      lane_ring_mask_(std::bit_ceil(requests_.capacity()) - 1),
      // Left uninitialised: pages of unused lanes are never touched.
      lane_slots_(std::make_unique_for_overwrite<std::uint16_t[]>(wire::max_lanes *
                                                                  (lane_ring_mask_ + 1))) {
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    lanes_[i].slots = lane_slots_.get() + i * (lane_ring_mask_ + 1);
}

inline void lane_walk::place_in_lane(std::uint16_t slot) {
  record& r = records_[slot];
  lane& l = lanes_[r.lane];
  r.place = l.first + ++l.count;
  slot_at(l, r.place) = slot;
  busy_lanes_ |= 1u << r.lane;
}

void lane_walk::advance() {
  const std::uint64_t first = cursor_;
  std::uint64_t ticket = first;
  bool doubtful = false;
  while (const std::uint64_t entry = requests_.entry(ticket)) {
    const std::uint16_t slot = wire::ring_entry::slot_of(entry);
    record& r = records_[slot];
    r.ticket = ticket++;
    r.now = record::stage::in_flight;
    place_in_lane(slot);
    // The count of taints is read for each request, because it may change between two.
    doubtful = doubtful || is_doubtful(r);
  }
  in_flight_count_ += ticket - first;
  cursor_ = ticket;
  if (doubtful) [[unlikely]]
    doubtful_ = {.first = has_doubtful() ? doubtful_.first : first, .end = ticket};
}

std::vector<std::uint16_t> lane_walk::in_flight() const {
  std::vector<std::uint16_t> slots;
  slots.reserve(in_flight_count_);
  // The slot that was freed last is taken next, so those in use are the first ones. All records
  // together are megabytes, and limits are looked at often.
  for (std::uint32_t slot = 0; slots.size() < in_flight_count_ && slot < requests_.capacity();
       ++slot) {
    if (records_[slot].in_flight()) slots.push_back(static_cast<std::uint16_t>(slot));
  }
  std::ranges::sort(slots, {}, [this](std::uint16_t slot) { return records_[slot].ticket; });
  return slots;
}

std::vector<lane_telemetry> lane_walk::busy_lanes() const {
  std::vector<lane_telemetry> all;
  for (std::uint32_t busy = busy_lanes_; busy != 0; busy &= busy - 1) {
    const int number = std::countr_zero(busy);
    const lane& l = lanes_[static_cast<std::size_t>(number)];
    all.push_back({.lane = number,
                   .requests = l.count,
                   .oldest = records_[slot_at(l, l.first + 1)].type->name});
  }
  return all;
}

void lane_walk::attach(wire::worker_header* segment, std::uint64_t worker,
                       const std::vector<std::uint16_t>& replay) {
  segment_ = segment;
  worker_ = worker;
  busy_lanes_ = 0;
  for (lane& l : lanes_) {
    l.first = l.count = l.last_ticket = 0;
    l.last_type = nullptr;
  }
  for (const std::uint16_t slot : replay)
    place_in_lane(slot);
}

void lane_walk::read_marks(lane_ends& ends) {
  for (std::uint32_t busy = busy_lanes_; busy != 0; busy &= busy - 1) {
    const auto number = static_cast<std::size_t>(__builtin_ctz(busy));
    const lane& l = lanes_[number];
    const wire::lane_mark& mark = segment_->lanes[number];
    const std::uint64_t completed = mark.completed.load(std::memory_order_acquire);
    if (completed == l.first) continue;
    // A request may have been sent and completed since the last walk. Its entry is visible now,
    // because the worker read it before it stored this mark.
    if (completed > l.first + l.count) advance();
    if (completed < l.first || completed > l.first + l.count) {
      violation_.note([&] {
        return fmt::format("mark {} in lane {} is out of range, {} to {}", completed, number,
                           l.first, l.first + l.count);
      });
      continue;
    }
    ends.lanes |= 1u << number;
    ends.of[number] = {completed, mark.replied.load(std::memory_order_relaxed)};
  }
}

// When no more of these appear, everything that any of them can have waited for is included.
void lane_walk::add_earlier(lane_ends& ends) {
  const auto ticket_at = [&](const lane& l, std::uint64_t place) {
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
      const lane& l = lanes_[number];
      const wire::lane_mark& mark = segment_->lanes[number];
      const std::uint64_t completed = mark.completed.load(std::memory_order_acquire);
      if (completed > l.first + l.count) advance();
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

bool lane_walk::is_word_left() const noexcept {
  if ((busy_lanes_ & (busy_lanes_ - 1)) == 0) return false;
  for (std::uint32_t busy = busy_lanes_; busy != 0; busy &= busy - 1) {
    const auto number = static_cast<std::size_t>(__builtin_ctz(busy));
    const std::uint64_t replied = segment_->lanes[number].replied.load(std::memory_order_relaxed);
    if (replied > lanes_[number].first) return true;
  }
  return false;
}

bool lane_walk::mark_can_be(std::uint8_t number) const noexcept {
  if (segment_ == nullptr) return true;
  const lane& l = lanes_[number];
  const std::uint64_t completed = segment_->lanes[number].completed.load(std::memory_order_acquire);
  return completed >= l.first && completed - l.first <= l.count;
}

std::optional<std::uint64_t> lane_walk::only_suspect() const noexcept {
  std::optional<std::uint64_t> suspect;
  for (std::uint32_t busy = busy_lanes_; busy != 0; busy &= busy - 1) {
    const auto number = static_cast<std::uint8_t>(__builtin_ctz(busy));
    const lane& l = lanes_[number];
    if (l.count == 0 || given(number) <= l.first) continue;
    const record& first = records_[slot_at(l, l.first + 1)];
    if (first.withdrawn()) continue;  // it is passed over, and no request behind it has begun
    if (suspect || wire::last_begun(segment_->lanes[number]) > l.first + 1) return std::nullopt;
    suspect = first.ticket;
  }
  return suspect;
}

bool lane_walk::only_a_part_has_begun() const noexcept {
  bool part = false;
  for (std::uint32_t busy = busy_lanes_; busy != 0; busy &= busy - 1) {
    const auto number = static_cast<std::uint8_t>(__builtin_ctz(busy));
    const lane& l = lanes_[number];
    if (l.count == 0 || given(number) <= l.first) continue;
    if (number != wire::world_lane) return false;
    part = true;
  }
  return part;
}

std::uint64_t lane_walk::progress() const noexcept {
  std::uint64_t sum = 0;
  if (segment_ != nullptr) {
    for (const wire::lane_mark& mark : segment_->lanes) {
      sum += mark.started.load(std::memory_order_relaxed) +
             mark.completed.load(std::memory_order_relaxed);
    }
  }
  return sum;
}

std::string lane_walk::last_ended() const {
  std::string names;
  for (const lane& l : lanes_) {
    if (l.last_type == nullptr) continue;
    fmt::format_to(std::back_inserter(names), "{}{} #{}", names.empty() ? "" : ", ",
                   l.last_type->name, l.last_ticket);
  }
  return names;
}

}  // namespace troupe
