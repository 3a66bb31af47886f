#pragma once

#include "device/completion/protocol_violation.hpp"
#include "device/completion/taint_watch.hpp"
#include "device/mailbox/mailbox.hpp"
#include "device/mailbox/record.hpp"
#include "wire/layout.hpp"

#include <troupe/telemetry/snapshot.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Follows the requests of a device in the order sent, each in its lane, and reads the marks of the
/// worker in service. Belongs to the reactor's role.
class lane_walk {
 public:
  lane_walk(mailbox& requests, record* records, const taint_watch& taints,
            protocol_violation& violation);

  /// Reads the entry of every request sent so far.
  void advance();
  /// The tickets of requests that must be screened, because something was tainted after the check
  /// of their operands; empty after the call.
  struct tickets {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
  };
  [[nodiscard]] bool has_doubtful() const noexcept { return doubtful_.first != doubtful_.end; }
  [[nodiscard]] tickets take_doubtful() noexcept { return std::exchange(doubtful_, {}); }
  /// True if something was tainted since the operands were checked.
  [[nodiscard]] bool is_doubtful(const record& r) const noexcept {
    return r.watched || r.taint_changes != taints_.changes();
  }

  /// The next ticket to walk.
  [[nodiscard]] std::uint64_t next_ticket() const noexcept { return cursor_; }
  [[nodiscard]] std::uint64_t in_flight_count() const noexcept { return in_flight_count_; }
  [[nodiscard]] std::vector<std::uint16_t> in_flight() const;
  /// The lanes with requests in flight.
  [[nodiscard]] std::vector<lane_telemetry> busy_lanes() const;
  /// The slot of one is free.
  void forget_one() noexcept { --in_flight_count_; }

  /// A fresh worker serves; `replay` are the first requests of its lanes, in the order sent.
  void attach(wire::worker_header* segment, std::uint64_t worker,
              const std::vector<std::uint16_t>& replay);
  void detach() noexcept { segment_ = nullptr; }
  [[nodiscard]] wire::worker_header* segment() const noexcept { return segment_; }
  [[nodiscard]] std::uint64_t worker() const noexcept { return worker_; }

  /// The place up to which a lane's requests have completed, and up to which they have replies.
  struct lane_end {
    std::uint64_t completed;
    std::uint64_t replied;
  };
  struct lane_ends {
    std::uint32_t lanes = 0;  // a bit for each lane with completed requests
    std::array<lane_end, wire::max_lanes> of;
  };
  /// Precondition of this and the next three: a worker serves.
  void read_marks(lane_ends& ends);
  /// Adds the requests that were sent before the last of them and have ended since their lane was
  /// read.
  void add_earlier(lane_ends& ends);
  /// True if one of several lanes has a reply that is not taken yet; it may be a failure. If a
  /// completed request waited for another one, this look shows that one's end, though the previous
  /// look may not.
  [[nodiscard]] bool is_word_left() const noexcept;
  /// True if a request of the lane has completed and is not taken.
  [[nodiscard]] bool has_ended(const lane_ends& ends, std::size_t number) const noexcept {
    return lanes_[number].first < ends.of[number].completed && lanes_[number].count > 0;
  }
  /// The first request of a lane that is not taken. Precondition: there is one.
  [[nodiscard]] std::uint16_t first_of(std::size_t number) noexcept {
    return slot_at(lanes_[number], lanes_[number].first + 1);
  }
  /// Takes it. \returns its place
  std::uint64_t take_first(std::size_t number, const record& first) noexcept {
    lane& l = lanes_[number];
    l.last_type = first.type;
    l.last_ticket = first.ticket;
    if (--l.count == 0) busy_lanes_ &= ~(1u << number);
    return ++l.first;
  }

  /// How many requests of a lane the current worker has been given, begun or not.
  [[nodiscard]] std::uint64_t given(std::uint8_t number) const noexcept {
    return segment_ == nullptr ? 0
                               : segment_->lanes[number].started.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t started(std::uint8_t number) const noexcept {
    return segment_ == nullptr ? 0 : wire::last_begun(segment_->lanes[number]);
  }
  [[nodiscard]] bool is_head(const record& r) const noexcept {
    return r.place == lanes_[r.lane].first + 1 && given(r.lane) >= r.place;
  }
  [[nodiscard]] bool mark_can_be(std::uint8_t number) const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> only_suspect() const noexcept;
  [[nodiscard]] bool only_a_part_has_begun() const noexcept;
  [[nodiscard]] std::uint64_t progress() const noexcept;
  [[nodiscard]] std::string last_ended() const;

 private:
  struct lane {
    std::uint16_t* slots = nullptr;  // a ring of its requests in flight, by place
    std::uint64_t first = 0;         // place of the oldest, minus one: completed so far
    std::uint64_t count = 0;
    const request_type* last_type = nullptr;  // the type of the last that ended
    std::uint64_t last_ticket = 0;
  };

  void place_in_lane(std::uint16_t slot);
  [[nodiscard]] std::uint16_t& slot_at(const lane& of, std::uint64_t place) const noexcept {
    return of.slots[place & lane_ring_mask_];
  }

  mailbox& requests_;
  record* const records_;
  const taint_watch& taints_;
  protocol_violation& violation_;
  wire::worker_header* segment_ = nullptr;
  std::uint64_t worker_ = 0;
  std::uint64_t cursor_ = 0;
  std::uint64_t in_flight_count_ = 0;
  tickets doubtful_;
  std::uint32_t busy_lanes_ = 0;
  const std::uint64_t lane_ring_mask_;
  const std::unique_ptr<std::uint16_t[]> lane_slots_;  // the rings of all lanes
  std::array<lane, wire::max_lanes> lanes_;
};

}  // namespace troupe
