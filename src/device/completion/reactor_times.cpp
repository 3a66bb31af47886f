#include "device/completion/reactor.hpp"

#include <algorithm>
#include <cstring>

namespace troupe {

using clock = std::chrono::steady_clock;

void reactor::note_stamps(std::uint16_t slot) {
  ended_ = {};
  ended_seen_ = clock::now();
  if (segment_ == nullptr) return;
  const auto& left = wire::stamps_of(segment_, requests_.capacity(), slot);
  std::memcpy(static_cast<void*>(&ended_), &left, sizeof(ended_));
  if (ended_.ticket != records_[slot].ticket) ended_ = {};
}

request_times reactor::times_of_ended(clock::time_point sent) const noexcept {
  request_times times;
  if (ended_.called == 0) return times;
  using ns = std::chrono::nanoseconds;
  // A worker may write any number.
  const auto between = [](std::int64_t from, std::int64_t to) {
    return to > from && from > 0 ? ns(to - from) : ns(0);
  };
  const auto of = [](clock::time_point at) {
    return std::chrono::duration_cast<ns>(at.time_since_epoch()).count();
  };
  times.queue = between(of(sent), ended_.called);
  times.turn = std::clamp(ns(ended_.turn), ns(0), times.queue);
  times.launch = between(ended_.called, ended_.returned);
  if (on_device_) {
    times.device = between(static_cast<std::int64_t>(ended_.device_begin),
                           static_cast<std::int64_t>(ended_.device_end));
    times.wake = between(of(ended_seen_), of(clock::now()));
  } else {
    times.device = times.launch;
    times.wake = between(ended_.returned, of(clock::now()));
  }
  return times;
}

}  // namespace troupe
