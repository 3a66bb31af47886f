#include "device/completion/outcome_counts.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <new>
#include <string>

namespace troupe {
namespace {

constexpr std::string_view name_of_others = "other";

}  // namespace

outcome_counts::outcome_counts() {
  other_.name = name_of_others;
  entries_.reserve(most_operations);
}

auto outcome_counts::of_another_place(const request_type& type) noexcept -> entry& {
  std::size_t place = type.id % places;
  for (;; place = (place + 1) % places) {
    entry* const there = table_[place].load(std::memory_order_relaxed);
    if (there == nullptr) break;
    if (there->type == type.id) return *there;
  }
  if (entries_.size() == most_operations) return other_;
  std::unique_ptr<entry> fresh(new (std::nothrow) entry);
  if (!fresh) return other_;
  fresh->type = type.id;
  fresh->name = type.name;
  table_[place].store(fresh.get(), std::memory_order_release);
  return *entries_.emplace_back(std::move(fresh));
}

void outcome_counts::note_failed(const request_type& type, errc code) noexcept {
  const auto at = static_cast<std::size_t>(code);
  std::atomic<std::uint64_t>& n = of(type).failed[at < codes ? at : 0];
  n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void outcome_counts::note_times(const request_type& type, std::chrono::nanoseconds duration,
                                const request_times& times) noexcept {
  entry& of_type = of(type);
  timed* to = of_type.times.load(std::memory_order_relaxed);
  if (to == nullptr) {
    to = new (std::nothrow) timed;
    if (to == nullptr) return;
    of_type.times.store(to, std::memory_order_release);
  }
  const auto add = [](auto& sum, auto more) {
    sum.store(sum.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  };
  add(to->durations[duration_histogram::bucket_of(duration)], std::uint64_t{1});
  const std::chrono::nanoseconds parts[] = {duration,     times.queue,  times.turn,
                                            times.launch, times.device, times.wake};
  for (std::size_t i = 0; i < std::size(parts); ++i)
    add(to->sums[i], parts[i].count());
}

timed_requests outcome_counts::read(const timed& from) {
  timed_requests made;
  for (std::size_t b = 0; b < duration_histogram::buckets; ++b) {
    made.duration.counts[b] = from.durations[b].load(std::memory_order_relaxed);
    made.count += made.duration.counts[b];
  }
  std::chrono::nanoseconds* const parts[] = {&made.duration.sum, &made.sums.queue,
                                             &made.sums.turn,    &made.sums.launch,
                                             &made.sums.device,  &made.sums.wake};
  for (std::size_t i = 0; i < std::size(parts); ++i)
    *parts[i] = std::chrono::nanoseconds(from.sums[i].load(std::memory_order_relaxed));
  return made;
}

void outcome_counts::note_refused(const request_type& type, errc code) noexcept {
  const std::lock_guard lock(mutex_);
  ++refused_;
  const auto find = [&](std::string_view name) {
    return std::ranges::find_if(refusals_,
                                [&](const refusal& r) { return r.code == code && r.name == name; });
  };
  auto found = find(type.name);
  const bool fits = refusals_.size() < most_operations;
  if (found == refusals_.end() && !fits) found = find(name_of_others);
  if (found == refusals_.end()) {
    try {
      refusals_.push_back({.name = fits ? type.name : name_of_others, .code = code});
    } catch (const std::bad_alloc&) {
      --refused_;  // the sums stay equal
      return;
    }
    found = refusals_.end() - 1;
  }
  ++found->count;
}

std::uint64_t outcome_counts::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

auto outcome_counts::read() const -> reading {
  reading all;
  all.tags = tags_.read();
  std::map<std::string_view, operation_telemetry> by_name;
  const auto fail = [&](std::string_view name, errc code, std::uint64_t count) {
    if (count == 0) return;
    std::vector<failure_count>& failed = by_name[name].failed;
    const auto place = std::ranges::lower_bound(failed, code, {}, &failure_count::code);
    if (place != failed.end() && place->code == code) {
      place->count += count;
    } else {
      failed.insert(place, {.code = code, .count = count});
    }
    all.failed += count;
  };
  const auto add = [&](const entry& one) {
    const std::uint64_t done = one.done.load(std::memory_order_acquire);
    if (done > 0) by_name[one.name].done += done;
    all.done += done;
    const timed* const times = one.times.load(std::memory_order_acquire);
    if (times != nullptr) by_name[one.name].timed = read(*times);
    for (std::size_t code = 0; code < codes; ++code)
      fail(one.name, static_cast<errc>(code), one.failed[code].load(std::memory_order_acquire));
  };
  for (const std::atomic<entry*>& place : table_) {
    if (const entry* const one = place.load(std::memory_order_acquire)) add(*one);
  }
  add(other_);
  {
    const std::lock_guard lock(mutex_);
    all.refused = refused_;
    for (const refusal& one : refusals_)
      fail(one.name, one.code, one.count);
  }
  for (auto& [name, one] : by_name) {
    one.name = name;
    all.operations.push_back(std::move(one));
  }
  return all;
}

}  // namespace troupe
