// The limits of operations of a world: their deadlines, and how long their parts may run together.
#include "device/supervision/worker_watch.hpp"
#include "device/world/world_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using progress = world_operation::progress;

// The time that ranks have to leave an operation that was given up.
constexpr auto time_to_leave = 1s;

std::string_view name_of(progress p) noexcept {
  switch (p) {
    case progress::waits:
      return "waits";
    case progress::runs:
      return "runs";
    case progress::has_ended:
      return "has ended";
  }
  return "";
}

}  // namespace

// Takes the devices' roles, so the caller has neither one nor the mutex.
std::vector<progress> world_core::progress_of(const in_short& one) const {
  std::vector<progress> all;
  for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
    if (one.has_ended[rank]) {
      all.push_back(progress::has_ended);
    } else if (one.parts.empty()) {
      all.push_back(progress::waits);
    } else {
      all.push_back(devices_[rank]->progress_of(one.parts[rank]));
    }
  }
  return all;
}

request_watch::clock::time_point world_core::look(clock::time_point now) {
  std::vector<std::pair<detail::completion, error>> late;
  std::optional<in_short> first;
  {
    const std::lock_guard lock(mutex_);
    if (under_way_.empty()) next_look_ = clock::time_point::max();
    if (now < next_look_) return next_look_;
    next_look_ = detail::deadline_after(now, look_interval_);
    late = take_late(now);
    // Only the first one can have begun on all ranks, because a device runs its parts in order.
    if (!under_way_.front().parts.empty()) first = under_way_.front();
  }
  for (auto& [done, why] : late)
    done(nullptr, &why);
  if (first) check_run(*first, now);
  const std::lock_guard lock(mutex_);
  return next_look_;
}

void world_core::check_run(const in_short& first, clock::time_point now) {
  const std::vector<progress> ranks = progress_of(first);
  std::vector<std::size_t> stuck;
  {
    const std::lock_guard lock(mutex_);
    if (under_way_.empty() || under_way_.front().number != first.number) return;
    operation& one = under_way_.front();
    if (!one.all_begun && std::ranges::find(ranks, progress::waits) == ranks.end()) {
      one.all_begun = now;
    }
    if (!one.all_begun) return;
    const clock::time_point end = detail::deadline_after(*one.all_begun, limit_);
    if (now < end) {
      next_look_ = std::min(next_look_, end);
      return;
    }
    if (!one.given_up) give_up(one, ranks, now);
    if (now >= *one.given_up + time_to_leave) {
      one.given_up = now;
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        if (ranks[rank] == progress::runs) stuck.push_back(rank);
      }
      one.stuck = stuck;
    }
    next_look_ = std::min(next_look_, *one.given_up + time_to_leave);
  }
  for (const std::size_t rank : stuck) {
    devices_[rank]->end_running(
        first.parts[rank],
        {.code = errc::device_fault,
         .message = fmt::format("hang: its part of {} #{} did not end within {} ms after that was "
                                "given up, so its worker was ended",
                                first.type->name, first.number, time_to_leave / 1ms)});
  }
}

// With the mutex. It is the first of the world, so all earlier ones have ended on all ranks.
void world_core::give_up(operation& one, const std::vector<progress>& ranks,
                         clock::time_point now) {
  one.given_up = now;
  if (one.failure) return;  // its ranks leave already
  std::string states;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    states += fmt::format("{}rank {} {}", rank == 0 ? "" : ", ", rank, name_of(ranks[rank]));
  one.failure = error{.code = errc::aborted,
                      .message = fmt::format(
                          "hang: {} #{} ran for longer than the run limit of its world, {} ms: {}",
                          one.type->name, one.number, limit_ / 1ms, states)};
  one.is_hang = true;
  drop(one.number);
}

// With the mutex. The callers whose deadline has passed.
std::vector<std::pair<detail::completion, error>> world_core::take_late(clock::time_point now) {
  std::vector<std::pair<detail::completion, error>> late;
  for (operation& one : under_way_) {
    if (!one.done || !one.deadline) continue;
    if (now < *one.deadline) {
      next_look_ = std::min(next_look_, *one.deadline);
      continue;
    }
    late.emplace_back(
        std::exchange(one.done, {}),
        error{.code = errc::deadline_exceeded,
              .message = fmt::format("the deadline passed; {} #{} goes on on all ranks",
                                     one.type->name, one.number)});
  }
  return late;
}

// With the mutex, of an operation that has begun just now.
void world_core::schedule_look(std::optional<clock::time_point> deadline) {
  const clock::time_point now = clock::now();
  clock::time_point next = detail::deadline_after(now, look_interval_);
  if (deadline) next = std::min(next, *deadline);
  next_look_ = std::min(next_look_, next);
  // A busy device looks as often by itself.
  constexpr auto often = 100ms;
  if (next - now >= often) return;
  for (const auto& one : devices_)
    one->watch_at(next);
}

}  // namespace troupe
