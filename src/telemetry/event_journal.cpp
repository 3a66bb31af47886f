#include "telemetry/event_journal.hpp"

#include "telemetry/fault_kind.hpp"

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
    add_to_counts(e);
    if (recorder_ && e.what == device_event::kind::lost) recorder_->keep(e);
    if (tracer_) tracer_->on_event(e);
    if (courier_) courier_->post(e);
    if (events_.size() == capacity) events_.pop_front();
    events_.push_back(std::move(e));
  } catch (const std::bad_alloc&) {
  }
}

// With the mutex.
void event_journal::add_to_counts(const device_event& e) {
  const auto kind = std::ranges::find(counts_.events, e.what, &event_count::what);
  if (kind == counts_.events.end()) {
    counts_.events.push_back({.what = e.what, .count = 1});
  } else {
    ++kind->count;
  }
  if (e.what == device_event::kind::recovered) counts_.failovers.observe(e.took);
  if (e.what == device_event::kind::xid) {
    constexpr std::size_t most_xids = 16;
    if (counts_.xids.size() == most_xids) counts_.xids.erase(counts_.xids.begin());
    counts_.xids.push_back(static_cast<std::uint64_t>(e.count));
  }
  if (e.what != device_event::kind::lost || !e.why) return;
  const std::string_view fault = kind_of_fault(*e.why);
  const std::string_view request = e.why->request;
  const std::size_t dot = request.find('.');
  const std::string_view library = dot == request.npos ? "" : request.substr(0, dot);
  const auto same = std::ranges::find_if(counts_.faults, [&](const fault_count& f) {
    return f.kind == fault && f.library == library;
  });
  if (same != counts_.faults.end()) {
    ++same->count;
  } else if (constexpr std::size_t most_faults = 256; counts_.faults.size() < most_faults) {
    counts_.faults.push_back(
        {.kind = std::string(fault), .library = std::string(library), .count = 1});
  }
}

void event_journal::count(device_telemetry& into) const {
  const std::lock_guard lock(mutex_);
  into.last_event = last_;
  into.events = counts_.events;
  into.faults = counts_.faults;
  into.failovers = counts_.failovers;
  into.xids = counts_.xids;
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

void event_journal::report_to(std::shared_ptr<request_tracer> tracer,
                              std::shared_ptr<flight_recorder> recorder) {
  const std::lock_guard lock(mutex_);
  tracer_ = std::move(tracer);
  recorder_ = std::move(recorder);
}

}  // namespace troupe
