#include "device/completion/ended_times.hpp"

#include <algorithm>
#include <cstring>

namespace troupe {

using clock = std::chrono::steady_clock;

void ended_times::note(wire::worker_header* segment, std::uint32_t capacity, std::uint16_t slot,
                       std::uint64_t ticket) noexcept {
  stamps_ = {};
  seen_ = clock::now();
  if (segment == nullptr) return;
  const auto& left = wire::stamps_of(segment, capacity, slot);
  std::memcpy(static_cast<void*>(&stamps_), &left, sizeof(stamps_));
  if (stamps_.ticket != ticket) stamps_ = {};
}

request_times ended_times::of_request(clock::time_point sent) const noexcept {
  request_times times;
  if (stamps_.called == 0) return times;
  using ns = std::chrono::nanoseconds;
  // A worker may write any number.
  const auto between = [](std::int64_t from, std::int64_t to) {
    return to > from && from > 0 ? ns(to - from) : ns(0);
  };
  const auto of = [](clock::time_point at) {
    return std::chrono::duration_cast<ns>(at.time_since_epoch()).count();
  };
  times.queue = between(of(sent), stamps_.called);
  times.turn = std::clamp(ns(stamps_.turn), ns(0), times.queue);
  times.launch = between(stamps_.called, stamps_.returned);
  if (on_device_) {
    times.device = between(static_cast<std::int64_t>(stamps_.device_begin),
                           static_cast<std::int64_t>(stamps_.device_end));
    times.wake = between(of(seen_), of(clock::now()));
  } else {
    times.device = times.launch;
    times.wake = between(stamps_.returned, of(clock::now()));
  }
  return times;
}

}  // namespace troupe
