#include "device/supervision/worker_watch.hpp"

#include "device/completion/reactor.hpp"
#include "device/mailbox/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

// How often a busy worker is checked; an idle device is not checked at all.
constexpr std::chrono::milliseconds watch_interval{100};

}  // namespace

std::chrono::nanoseconds worker_watch::look_interval(std::chrono::nanoseconds limit) noexcept {
  return std::max<std::chrono::nanoseconds>(limit / 32, 1ms);
}

bool worker_watch::bring_check_forward(std::int64_t to_ns) noexcept {
  std::int64_t next = next_look_ns_.load(std::memory_order_relaxed);
  while (to_ns < next) {
    if (next_look_ns_.compare_exchange_weak(next, to_ns)) return true;
  }
  return false;
}

bool worker_watch::schedule_check(std::int64_t at_ns) noexcept {
  return bring_check_forward(at_ns);
}

bool worker_watch::note_run_limit(std::chrono::nanoseconds limit, clock::time_point now) noexcept {
  const std::chrono::nanoseconds often = look_interval(limit);
  return often < watch_interval && bring_check_forward((now + often).time_since_epoch().count());
}

worker_watch::clock::time_point worker_watch::next_look(clock::time_point now) const noexcept {
  clock::time_point until = clock::time_point::max();
  const std::int64_t look = next_look_ns_.load();
  if (look != no_look) until = clock::time_point(std::chrono::nanoseconds(look));
  return watching_.load() ? std::min(until, now + watch_interval) : until;
}

bool worker_watch::is_due(clock::time_point now) const noexcept {
  return watching_.load() || next_look_ns_.load() <= now.time_since_epoch() / 1ns;
}

void worker_watch::begin(clock::time_point now) noexcept {
  runs_.fill({});
  last_progress_at_ = now;
  pinged_ = false;
}

std::optional<sign_of_loss> worker_watch::check_limits(const role& held, clock::time_point now) {
  // Reset before looking: a check scheduled meanwhile lowers it again. One that was not lowered,
  // because an earlier one was scheduled, concerns a request that this walk finds.
  next_look_ns_.store(no_look, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  completions_.walk(held);
  clock::time_point next = clock::time_point::max();
  const std::vector<std::uint16_t> slots = completions_.in_flight(held);
  for (const std::uint16_t slot : slots) {
    const record& r = completions_.at(slot);
    // The answer to an earlier one may have ended it.
    if (!r.in_flight() || r.withdrawn()) continue;
    if (r.deadline_ns != 0 && !r.answered()) {
      const clock::time_point deadline{std::chrono::nanoseconds(r.deadline_ns)};
      if (now >= deadline) {
        expire(held, slot);
        if (!r.in_flight()) continue;
      } else {
        next = std::min(next, deadline);
      }
    }
    const std::chrono::nanoseconds limit(r.run_limit_ns);
    if (const auto end = end_of_run(held, slots, r, now); !end) {
      if (look_interval(limit) < watch_interval) next = std::min(next, now + look_interval(limit));
    } else if (now < *end) {
      next = std::min(next, *end);
    } else {
      loss what{.by_run_limit = true};
      if (begun_together(held, r) == 1) what.culprit_ticket = r.ticket;
      what.culprit_known = what.culprit_ticket.has_value();
      error why{.code = errc::device_fault,
                .message = fmt::format(
                    "hang: it ran for longer than its run limit of {} ms, so its worker was ended",
                    limit / 1ms)};
      next_look_ns_.store(now.time_since_epoch() / 1ns);  // some limits are not checked yet
      return sign_of_loss{.what = what, .why = std::move(why), .at = *end};
    }
  }
  (void)bring_check_forward(next.time_since_epoch() / 1ns);
  return std::nullopt;
}

// The answer comes in time, and a running request runs to its end.
void worker_watch::expire(const role& held, std::uint16_t slot) {
  const record& r = completions_.at(slot);
  const bool is_given = completions_.given(held, r.lane) >= r.place;
  completions_.answer_early(
      held, slot,
      {.code = errc::deadline_exceeded,
       .message = is_given ? "the deadline passed; the worker already has the request, "
                             "which runs to its end"
                           : "the deadline passed before the request was run"});
}

// How many requests share the mark that shows the end of a lane's first one. All may
// have begun, and nothing shows which of them runs.
std::uint64_t worker_watch::begun_together(const role& held, const record& r) const {
  return completions_.started(held, r.lane) - r.place + 1;
}

// When the run limit of a request ends; nothing if it was not observed yet. A
// request in an accelerator's queue may still wait there for an earlier one.
std::optional<worker_watch::clock::time_point> worker_watch::end_of_run(
    const role& held, std::span<const std::uint16_t> slots, const record& r,
    clock::time_point now) {
  if (!completions_.is_head(held, r)) return std::nullopt;
  seen_run& run = runs_[r.lane];
  const bool waits = on_device_ && std::ranges::any_of(slots, [&](std::uint16_t slot) {
                       const record& other = completions_.at(slot);
                       return other.in_flight() && other.ticket < r.ticket &&
                              in_conflict(other.operands, r.operands);
                     });
  if (waits) {
    run.ticket.reset();
    return std::nullopt;
  }
  if (run.ticket != r.ticket) run = {.ticket = r.ticket, .since = now};
  const std::chrono::nanoseconds limit(r.run_limit_ns);
  const std::uint64_t together = begun_together(held, r);
  const auto longest = std::chrono::nanoseconds::max();
  const bool endless = together > static_cast<std::uint64_t>(longest / limit);
  return detail::deadline_after(run.since,
                                endless ? longest : limit * static_cast<std::int64_t>(together));
}

std::optional<sign_of_loss> worker_watch::check_progress(const role& held, incarnation* active,
                                                         clock::time_point now) {
  if (completions_.in_flight_count(held) == 0) {
    // A request sent just now turns it on again and wakes this thread.
    watching_.store(false, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    completions_.walk(held);
    if (completions_.in_flight_count(held) > 0) watching_.store(true);
    pinged_ = false;
    last_progress_at_ = now;
    return std::nullopt;
  }
  const std::uint64_t progress = completions_.progress(held);
  if (active == nullptr || !active->is_process() || progress != last_progress_) {
    last_progress_ = progress;
    last_progress_at_ = now;
    pinged_ = false;
    return std::nullopt;
  }
  if (!pinged_) {
    if (now - last_progress_at_ < 2 * watch_interval) return std::nullopt;
    active->ping();
    pinged_ = true;
    last_progress_at_ = now;
  } else if (active->pongs() == active->pings_sent()) {
    pinged_ = false;
    last_progress_at_ = now;
  } else if (now - last_progress_at_ >= config_.silence_timeout) {
    return sign_of_loss{.what = {.doubtful = true},
                        .why = {.code = errc::device_fault,
                                .message = fmt::format("silence: no sign of life for {} ms",
                                                       config_.silence_timeout / 1ms)},
                        .at = now};
  }
  return std::nullopt;
}

// A worker that does not answer gets no more time than one that does not start. All wait for one
// that takes over now.
worker_watch::clock::time_point worker_watch::answer_is_due(const incarnation& worker,
                                                            bool takes_over) const {
  const auto since = worker.unanswered_since();
  const auto timeout =
      takes_over ? std::min(config_.silence_timeout, config_.start_timeout) : config_.start_timeout;
  return since ? detail::deadline_after(*since, timeout) : clock::time_point::max();
}

error worker_watch::has_not_answered() {
  return {.code = errc::device_fault,
          .message = "silence: it does not answer on its control socket"};
}

std::optional<sign_of_loss> worker_watch::check_alarm(worker_pair workers,
                                                      supervisor_environment& environment,
                                                      device_source& source) {
  constexpr auto standing_still = 1ms;
  const auto look = [&] {
    const role held(completions_);
    completions_.poll(held);
    return completions_.in_flight_count(held) > 0 ? completions_.progress(held) : std::uint64_t{0};
  };
  const clock::time_point sign = environment.now();
  const std::uint64_t before = look();
  if (before == 0) return std::nullopt;
  environment.pause(standing_still);
  if (look() != before) return std::nullopt;
  std::vector<std::int32_t> own{workers.active->pid()};
  if (workers.next != nullptr) own.push_back(workers.next->pid());
  if (!source.used_only_by(own)) return std::nullopt;
  // It makes no progress while a peer is late, which may be what the alarm is about. If this
  // worker's context is lost, its queues tell.
  if (completions_.only_a_part_has_begun(role(completions_))) return std::nullopt;
  const std::optional<std::uint64_t> culprit = completions_.only_suspect(role(completions_));
  return sign_of_loss{
      .what = {.culprit_ticket = culprit, .culprit_known = culprit.has_value(), .of_device = true},
      .why = {.code = errc::device_fault,
              .message = "xid: the device reported a fault while the worker, which alone "
                         "uses it, made no progress"},
      .at = sign};
}

}  // namespace troupe
