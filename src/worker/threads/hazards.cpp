#include "worker/threads/hazards.hpp"

#include <algorithm>

namespace troupe::worker {

std::span<const wire::operand> hazard_tracker::merged(std::span<const wire::operand> operands) {
  // Reads and writes are kept apart, as if they used different buffers.
  ranges_.clear();
  for (const wire::operand& o : operands) {
    const std::uint64_t writes = o.role == access::read ? 0 : 1;
    ranges_.push_back({.buffer = o.buffer_key() << 1 | writes, .begin = o.begin, .end = o.end});
  }
  wire::join(ranges_);
  wire::coarsen(ranges_, most_apart);
  merged_.clear();
  for (const wire::byte_range& r : ranges_) {
    merged_.push_back({.buffer = static_cast<std::uint32_t>(r.buffer >> 9),
                       .pool = static_cast<wire::pool_number>(r.buffer >> 1),
                       .role = (r.buffer & 1) != 0 ? access::write : access::read,
                       .begin = r.begin,
                       .end = r.end});
  }
  return merged_;
}

void hazard_tracker::admit(int lane, std::uint64_t place, std::span<const wire::operand> operands,
                           dependencies& waits) {
  waits.lanes = 0;
  waits.read_before = 0;
  if (operands.size() > most_apart) [[unlikely]]
    operands = merged(operands);
  for (const wire::operand& o : operands) {
    if (o.begin == o.end) continue;
    auto& buffers = uses_[o.pool];
    if (o.buffer >= buffers.size()) buffers.resize(o.buffer + 1);
    std::vector<use>& uses = buffers[o.buffer];
    const bool writes = o.role != access::read;

    bool noted = false;
    for (std::size_t i = 0; i < uses.size();) {
      use& u = uses[i];
      if (done(u)) {
        u = uses.back();
        uses.pop_back();
        continue;
      }
      const bool overlap = u.begin < o.end && o.begin < u.end;
      if (u.lane != lane) {
        if ((writes || u.writes) && overlap) waits.add(u.lane, u.place);
      } else if (writes && !u.writes && overlap && u.place != place) {
        waits.read_before = std::max(waits.read_before, u.place);
      } else if (u.begin == o.begin && u.end == o.end && u.writes == writes) {
        // The later place of the same lane stands for both, so equal uses do not pile up.
        u.place = place;
        noted = true;
      }
      ++i;
    }
    if (!noted) uses.push_back({o.begin, o.end, place, static_cast<std::uint8_t>(lane), writes});
  }
}

}  // namespace troupe::worker
