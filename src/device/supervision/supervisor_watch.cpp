// How the device thread notices by itself that a worker is lost: run limits, silence, marks that
// cannot be, an alarm of the device. And that a deadline has passed, for which none is.
#include "device/submission/operands.hpp"
#include "device/supervision/supervisor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace troupe {

using namespace std::chrono_literals;

// How often a request is looked at that is to be seen to begin: the limit, and what it is exceeded
// by, are right to a part of it.
std::chrono::nanoseconds supervisor::look_interval(std::chrono::nanoseconds limit) {
  return std::max<std::chrono::nanoseconds>(limit / 32, 1ms);
}

// With the role; without it if a worker was lost.
void supervisor::check_limits(clock::time_point now) {
  reactor& completions = parts_.completions;
  // Reset before looking: a look asked for meanwhile lowers it again, and one that was not, because
  // an earlier one stood there, is at a request that is taken up here.
  next_look_ns_.store(no_look, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  completions.walk();
  clock::time_point next = clock::time_point::max();
  const std::vector<std::uint16_t> slots = completions.in_flight();
  for (const std::uint16_t slot : slots) {
    const record& r = completions.at(slot);
    // The answer to one before may have ended it.
    if (!r.in_flight || r.withdrawn) continue;
    if (r.deadline_ns != 0 && !r.answered) {
      const clock::time_point deadline{std::chrono::nanoseconds(r.deadline_ns)};
      if (now >= deadline) {
        expire(slot);
        if (!r.in_flight) continue;
      } else {
        next = std::min(next, deadline);
      }
    }
    const std::chrono::nanoseconds limit(r.run_limit_ns);
    if (const auto end = end_of_run(slots, r, now); !end) {
      if (look_interval(limit) < watch_interval) next = std::min(next, now + look_interval(limit));
    } else if (now < *end) {
      next = std::min(next, *end);
    } else {
      loss what{.by_run_limit = true};
      if (begun_together(r) == 1) what.culprit_ticket = r.ticket;
      what.culprit_known = what.culprit_ticket.has_value();
      error why{.code = errc::device_fault,
                .message = fmt::format(
                    "hang: it ran for longer than its run limit of {} ms, so its worker was ended",
                    limit / 1ms)};
      completions.leave_role();
      next_look_ns_.store(now.time_since_epoch() / 1ns);  // the others' have not all been looked at
      return lose_active({.what = what, .why = std::move(why), .at = *end});
    }
  }
  (void)bring_look_forward(next.time_since_epoch() / 1ns);
}

// With the role. The answer comes in time, and what runs ends by itself.
void supervisor::expire(std::uint16_t slot) {
  reactor& completions = parts_.completions;
  const record& r = completions.at(slot);
  const bool is_given = active_ && completions.given(r.lane) >= r.place;
  completions.answer_early(
      slot, {.code = errc::deadline_exceeded,
             .message = is_given ? "the deadline passed; the worker already has the request, "
                                   "which runs to its end"
                                 : "the deadline passed before the request was run"});
}

// With the role: how many share the mark that shows the end of the first of a lane. They may all
// have begun, and which of them runs shows nowhere.
std::uint64_t supervisor::begun_together(const record& r) const {
  return parts_.completions.started(r.lane) - r.place + 1;
}

// With the role: when the time is over that a request may run; nothing for one that has not been
// seen to. What an accelerator's queue has can still wait there for an earlier request.
std::optional<supervisor::clock::time_point> supervisor::end_of_run(
    std::span<const std::uint16_t> slots, const record& r, clock::time_point now) {
  reactor& completions = parts_.completions;
  if (!active_ || !completions.is_head(r)) return std::nullopt;
  seen_run& run = runs_[r.lane];
  const bool waits =
      parts_.device_memory.on_device() && std::ranges::any_of(slots, [&](std::uint16_t slot) {
        const record& other = completions.at(slot);
        return other.in_flight && other.ticket < r.ticket &&
               in_conflict(other.operands, r.operands);
      });
  if (waits) {
    run.ticket.reset();
    return std::nullopt;
  }
  if (run.ticket != r.ticket) run = {.ticket = r.ticket, .since = now};
  const std::chrono::nanoseconds limit(r.run_limit_ns);
  const std::uint64_t together = begun_together(r);
  const auto longest = std::chrono::nanoseconds::max();
  const bool endless = together > static_cast<std::uint64_t>(longest / limit);
  return detail::deadline_after(run.since,
                                endless ? longest : limit * static_cast<std::int64_t>(together));
}

// With the role. Once all that may have caused a fault of the device have run again, and no worker
// was lost again, it was none of them. Where one was cancelled or expired instead, nobody knows.
void supervisor::look_for_cause() {
  if (!unattributed_) return;
  reactor& completions = parts_.completions;
  if (completions.skipped_reruns() != unattributed_->skipped_reruns) return unattributed_.reset();
  const bool still_sought = std::ranges::any_of(completions.in_flight(), [&](std::uint16_t slot) {
    const std::uint64_t ticket = completions.at(slot).ticket;
    return std::ranges::find(unattributed_->suspects, ticket) != unattributed_->suspects.end();
  });
  if (still_sought) return;
  error why = std::move(unattributed_->why);
  why.message += fmt::format(
      "; no request in flight caused it. A request that the device had reported as done may have, "
      "and its results may be wrong. Requests that ended last: {}",
      unattributed_->ended_before.empty() ? "none" : unattributed_->ended_before);
  unattributed_.reset();
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
    lose_active({.what = {.doubtful = true},
                 .why = {.code = errc::device_fault,
                         .message = fmt::format("silence: no sign of life for {} ms",
                                                parts_.config.silence_timeout / 1ms)},
                 .at = now});
  }
}

// A worker that does not answer, or does not read, keeps others waiting no longer than one that
// does not start. For one that is to take over now, all wait.
supervisor::clock::time_point supervisor::debt_is_due(const incarnation& worker) const {
  const auto since = worker.unanswered_since();
  const bool takes_over = !active_ && &worker == next_.get();
  const auto timeout = takes_over
                           ? std::min(parts_.config.silence_timeout, parts_.config.start_timeout)
                           : parts_.config.start_timeout;
  return since ? detail::deadline_after(*since, timeout) : clock::time_point::max();
}

void supervisor::end_debtors(clock::time_point now) {
  const auto silence = [] {
    return error{.code = errc::device_fault,
                 .message = "silence: it does not answer on its control socket"};
  };
  if (next_ && now >= debt_is_due(*next_)) next_failed(silence());
  if (active_ && now >= debt_is_due(*active_)) {
    lose_active({.what = {.doubtful = true}, .why = silence(), .at = now});
  }
}

// With the role; without it if a worker was lost, because it wrote what cannot be.
bool supervisor::on_protocol_violation() {
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
  if (!active_ || !active_->is_process() || draining_ || current_time() - reaped_at_ < aftermath)
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
