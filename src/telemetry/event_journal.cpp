#include "telemetry/event_journal.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace troupe {

void event_journal::record(device_event e) noexcept {
  const std::lock_guard lock(mutex_);
  e.number = ++last_;
  e.device = device_;
  if (e.at == decltype(e.at){}) e.at = std::chrono::system_clock::now();
  if (e.why) {
    e.why->device = device_;
    if (e.why->generation == 0) e.why->generation = e.generation;
  }
  try {
    if (courier_) courier_->post(e);
    if (events_.size() == capacity) events_.pop_front();
    events_.push_back(std::move(e));
  } catch (const std::bad_alloc&) {
  }
}

std::vector<device_event> event_journal::since(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto first = std::ranges::upper_bound(events_, number, {}, &device_event::number);
  return {first, events_.end()};
}

void event_journal::deliver_to(std::shared_ptr<event_courier> courier) {
  const std::lock_guard lock(mutex_);
  courier_ = std::move(courier);
  for (const device_event& e : events_)
    courier_->post(e);
}

}  // namespace troupe
