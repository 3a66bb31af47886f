#include "device/supervision/loss/draining_worker.hpp"

namespace troupe {

final_marks::final_marks(const draining_worker& of) noexcept : segment_(of.worker->segment()) {
  for (const held_request& h : of.held) {
    places& lane = held_[h.lane];
    if (lane.last == 0) lane.first = h.place;
    lane.last = h.place;
  }
}

bool final_marks::known(const held_request& h) const noexcept {
  const std::uint64_t completed = completed_in(h.lane);
  return completed + 1 >= held_[h.lane].first && completed <= held_[h.lane].last;
}

}  // namespace troupe
