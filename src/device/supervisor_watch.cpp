// How the device thread notices by itself that a worker is lost: deadlines, silence, marks that
// cannot be, an alarm of the device.
#include "device/supervisor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace troupe {
namespace {

using namespace std::chrono_literals;

// A request that has its answer is passed over by its worker as soon as that comes to it, unless it
// was in a queue already, where it can hang like any other.
constexpr std::chrono::nanoseconds withdrawal = 100ms;

// Until when a request may be at the head of its lane: its worker hangs if it is there later.
std::int64_t last_moment_ns(const record& r) {
  if (!r.answered) return r.deadline_ns;
  // A deadline may be as far away as time goes, in both directions.
  const std::chrono::nanoseconds deadline(std::max<std::int64_t>(r.deadline_ns, 0));
  return detail::deadline_after(supervisor::clock::time_point(deadline), withdrawal)
             .time_since_epoch() /
         1ns;
}

}  // namespace

// With the role; without it if a worker was lost.
void supervisor::check_deadlines(std::int64_t now_ns) {
  reactor& completions = parts_.completions;
  // Reset before looking: a deadline announced meanwhile lowers it again, and one that was not,
  // because an earlier one stood there, is of a request that is taken up here.
  earliest_deadline_ns_.store(no_deadline, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  completions.walk();
  std::int64_t earliest = no_deadline;
  for (const std::uint16_t slot : completions.in_flight()) {
    const record& r = completions.at(slot);
    // The answer to one before may have ended it.
    if (!r.in_flight || r.deadline_ns == 0 || r.withdrawn) continue;
    const bool running = active_ && completions.started(r.lane) >= r.place;
    const std::int64_t limit = last_moment_ns(r);
    if (now_ns < limit) {
      earliest = std::min(earliest, limit);
    } else if (running) {
      const auto deadline = clock::time_point(std::chrono::nanoseconds(r.deadline_ns));
      error why{.code = errc::device_fault,
                .message = "hang: still running at its deadline, so its worker was ended"};
      const loss what{.culprit_ticket = r.ticket, .from_outside = false, .culprit_known = true};
      completions.leave_role();
      earliest_deadline_ns_.store(now_ns);  // the others' have not all been looked at
      return lose_active({.what = what, .why = std::move(why), .at = deadline});
    } else if (!r.answered) {
      completions.answer_early(slot,
                               {.code = errc::deadline_exceeded, .message = "before it was run"});
    }
  }
  std::int64_t announced = earliest_deadline_ns_.load();
  while (earliest < announced &&
         !earliest_deadline_ns_.compare_exchange_weak(announced, earliest)) {
  }
}

// With the role. Once all that may have caused a fault of the device have run again, and no worker
// was lost again, it was none of them. Where one was cancelled or expired instead, nobody knows.
void supervisor::look_for_cause() {
  if (!unsolved_) return;
  reactor& completions = parts_.completions;
  if (completions.evasions() != unsolved_->evasions) return unsolved_.reset();
  const bool still_sought = std::ranges::any_of(completions.in_flight(), [&](std::uint16_t slot) {
    const std::uint64_t ticket = completions.at(slot).ticket;
    return std::ranges::find(unsolved_->suspects, ticket) != unsolved_->suspects.end();
  });
  if (still_sought) return;
  error why = std::move(unsolved_->why);
  why.message += fmt::format(
      "; no request in flight was the cause, so one may have been that the device had reported as "
      "done, and what that wrote be wrong; those that ended last: {}",
      unsolved_->ended_before.empty() ? "none" : unsolved_->ended_before);
  unsolved_.reset();
  const std::lock_guard lock(mutex_);
  ++health_.unexplained_faults;
  if (health_.last_fault && health_.last_fault->generation == why.generation) {
    health_.last_fault = std::move(why);
  }
}

// With the role; without it if a worker was lost.
void supervisor::check_progress(clock::time_point now) {
  reactor& completions = parts_.completions;
  look_for_cause();
  if (completions.in_flight_count() == 0) {
    // A request sent just now turns it on again and wakes this thread.
    watching_.store(false, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    completions.walk();
    if (completions.in_flight_count() > 0) watching_.store(true);
    pinged_ = false;
    last_progress_at_ = now;
    return;
  }
  const std::uint64_t progress = completions.progress();
  if (!active_ || !active_->is_process() || progress != last_progress_) {
    last_progress_ = progress;
    last_progress_at_ = now;
    pinged_ = false;
    return;
  }
  if (!pinged_) {
    if (now - last_progress_at_ < 2 * watch_interval) return;
    active_->ping();
    pinged_ = true;
    last_progress_at_ = now;
  } else if (active_->pongs() == active_->pings_sent()) {
    pinged_ = false;
    last_progress_at_ = now;
  } else if (now - last_progress_at_ >= parts_.config.silence_timeout) {
    completions.leave_role();
    lose_active({.what = {.culprit_ticket = std::nullopt, .from_outside = true},
                 .why = {.code = errc::device_fault,
                         .message = fmt::format("silence: no sign of life for {} ms",
                                                parts_.config.silence_timeout / 1ms)},
                 .at = now});
  }
}

// A worker that does not answer, or does not read, keeps others waiting no longer than one that
// does not start. For one that is to take over now, all wait.
supervisor::clock::time_point supervisor::debt_is_due(const incarnation& worker) const {
  const auto since = worker.owes_since();
  const bool takes_over = !active_ && &worker == next_.get();
  const auto patience = takes_over
                            ? std::min(parts_.config.silence_timeout, parts_.config.start_timeout)
                            : parts_.config.start_timeout;
  return since ? detail::deadline_after(*since, patience) : clock::time_point::max();
}

void supervisor::end_debtors(clock::time_point now) {
  const auto silence = [] {
    return error{.code = errc::device_fault,
                 .message = "silence: it does not answer on its control socket"};
  };
  if (next_ && now >= debt_is_due(*next_)) next_failed(silence());
  if (active_ && now >= debt_is_due(*active_)) {
    lose_active({.what = {.culprit_ticket = std::nullopt, .from_outside = true},
                 .why = silence(),
                 .at = now});
  }
}

// With the role; without it if a worker was lost, because it wrote what cannot be.
bool supervisor::lose_liar() {
  auto violation = parts_.completions.take_violation();
  if (!violation || !active_) return false;
  parts_.completions.leave_role();
  lose_active({.why = std::move(*violation), .at = current_time()});
  return true;
}

// Some process has met a fault on this device; which one, nobody says. A worker that stands still
// with work in its queues, and that alone uses the device, is the one: its own driver would say so
// only hundreds of milliseconds later.
void supervisor::on_alarm() {
  // The end of a lost worker raises alarms of its own.
  constexpr auto aftermath = 20ms;
  constexpr auto standing_still = 1ms;
  if (!active_ || !active_->is_process() || dying_ || current_time() - buried_at_ < aftermath)
    return;
  reactor& completions = parts_.completions;
  const auto look = [&] {
    completions.take_role();
    completions.poll();
    const std::uint64_t progress =
        completions.in_flight_count() > 0 ? completions.progress() : std::uint64_t{0};
    completions.leave_role();
    return progress;
  };
  const clock::time_point sign = current_time();
  const std::uint64_t before = look();
  if (before == 0) return;
  parts_.around->pause(standing_still);
  if (look() != before) return;
  std::vector<std::int32_t> own{active_->pid()};
  if (next_) own.push_back(next_->pid());
  if (!parts_.backend.source->used_only_by(own)) return;
  completions.take_role();
  const std::optional<std::uint64_t> culprit = completions.only_suspect();
  completions.leave_role();
  lose_active(
      {.what = {.culprit_ticket = culprit, .culprit_known = culprit.has_value(), .of_device = true},
       .why = {.code = errc::device_fault,
               .message = "the device reported a fault (Xid) while the worker, which alone "
                          "uses it, made no progress"},
       .at = sign});
}

}  // namespace troupe
