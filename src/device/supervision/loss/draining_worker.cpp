#include "device/supervision/loss/draining_worker.hpp"

namespace troupe {

final_marks::final_marks(const draining_worker& of) noexcept : segment_(of.worker->segment()) {
  for (const held_request& h : of.held) {
    if (!h.given) continue;
    places& lane = held_[h.lane];
    if (lane.last == 0) lane.first = h.place;
    lane.last = h.place;
  }
}

bool final_marks::known(const held_request& h) const noexcept {
  const std::uint64_t completed = completed_in(h.lane);
  const places& lane = held_[h.lane];
  return lane.last == 0 || (completed + 1 >= lane.first && completed <= lane.last);
}

}  // namespace troupe
