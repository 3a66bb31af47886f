// What the device thread does when workers come and go: start, hand-over, loss, giving up.
#include "device/operands.hpp"
#include "device/supervisor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>

namespace troupe {
namespace {

// Trying again cannot help: the same files would be found again.
bool permanent(errc code) noexcept {
  return code == errc::worker_not_found || code == errc::version_mismatch ||
         code == errc::library_missing || code == errc::invalid_argument;
}

std::string signal_name(int signal) {
  const char* abbreviation = ::sigabbrev_np(signal);
  return abbreviation != nullptr ? fmt::format("SIG{}", abbreviation)
                                 : fmt::format("signal {}", signal);
}

}  // namespace

void supervisor::start_next() {
  next_start_ = clock::time_point::min();
  auto started = incarnation::start(plan_, ++last_number_, frozen_);
  if (!started) return next_failed(std::move(started).error());
  next_ = *std::move(started);
}

void supervisor::next_failed(error why) {
  next_.reset();
  const clock::time_point now = clock::now();
  if (active_) {
    // A standby is a convenience: without one the next fault takes a little longer.
    if (++standby_failures_ <= parts_.config.restarts.restarts && !permanent(why.code)) {
      next_start_ = now + backoff_after(standby_failures_);
    }
    return;
  }
  if (permanent(why.code) || !note_restart(now)) return give_up(std::move(why));
  next_start_ = activate_after_;
}

void supervisor::activate_next() {
  reactor& completions = parts_.completions;
  completions.take_role();
  // Everything sent so far is handed over in order. A sender between its ticket and its entry is a
  // few instructions away from publishing.
  const std::uint64_t first = parts_.requests.next_ticket();
  completions.walk();
  while (completions.walked_ticket() < first) {
    std::this_thread::yield();
    completions.walk();
  }
  std::vector<std::uint16_t> replay;
  std::vector<std::uint64_t> entries;
  for (const std::uint16_t slot : completions.in_flight()) {
    const record& r = completions.at(slot);
    if (r.answered) {
      completions.drop(slot, {});
      continue;
    }
    replay.push_back(slot);
    entries.push_back(wire::ring_entry{.ticket = r.ticket, .slot = slot, .lane = r.lane}.packed());
  }
  active_ = std::move(next_);
  completions.attach(active_->segment(), active_->number(), replay);
  const bool first_time = generation_.load(std::memory_order_relaxed) == 0;
  generation_.fetch_add(1, std::memory_order_release);
  pid_.store(active_->pid(), std::memory_order_release);
  parts_.requests.activate(active_->number(), entries, completions.walked_ticket());
  completions.leave_role();

  const clock::time_point now = clock::now();
  last_progress_at_ = now;
  pinged_ = false;
  {
    const std::lock_guard lock(mutex_);
    if (!first_time) {
      ++health_.restarts;
      health_.last_failover = now - lost_at_;
    }
  }
  publish(device_state::ready);
  if (parts_.config.standby && active_->is_process()) start_next();
}

std::pair<loss, error> supervisor::explain(const os::exit_report& report) {
  // The worker has been reaped, so its report cannot change any more.
  const wire::crash_report& crash = active_->segment()->crash;
  loss what;
  error why{.code = errc::device_fault};
  if (report.signalled) {
    why.code_name = signal_name(report.code);
    why.vendor_code = report.code;
  }
  const auto reported = crash.signal.load(std::memory_order_acquire);
  if (reported != 0 && report.signalled && reported == static_cast<std::uint32_t>(report.code)) {
    if (crash.has_ticket != 0) what.culprit_ticket = crash.ticket;
    why.message = fmt::format("crash: the worker process ended by {} at address {:#x}",
                              why.code_name, crash.address);
  } else if (report.signalled) {
    // Nothing that runs in the worker ends it by SIGKILL without a word; the system or a person
    // did.
    what.from_outside = report.code == SIGKILL;
    why.message = fmt::format("{}: the worker process ended by {}",
                              what.from_outside ? "killed" : "crash", why.code_name);
  } else {
    why.message = fmt::format("exit: the worker process ended with status {}", report.code);
  }
  return {what, std::move(why)};
}

void supervisor::lose_active(loss what, error why, clock::time_point sign) {
  lost_at_ = sign;
  why.device = parts_.ordinal;
  why.generation = generation();
  if (!active_->is_process()) return condemn(std::move(why));

  state_.store(device_state::recovering, std::memory_order_release);
  // Killed if it still runs, and reaped in any case: after this none of its stores can land.
  active_->end();
  {
    const std::lock_guard lock(mutex_);
    health_.last_fault = why;
  }
  const bool within_budget = note_restart(sign);
  settle(what, why);
  active_.reset();
  pid_.store(-1, std::memory_order_release);
  if (!within_budget) return give_up(std::move(why));

  standby_failures_ = 0;
  if (!next_) {
    next_start_ = std::max(next_start_, activate_after_);
    if (clock::now() >= next_start_) start_next();
  } else if (next_->where() == incarnation::stage::ready && clock::now() >= activate_after_) {
    activate_next();
  }
}

// Decides what becomes of every request in flight, in the order sent, and answers those that end.
void supervisor::settle(const loss& what, const error& why) {
  reactor& completions = parts_.completions;
  completions.take_role();
  completions.poll();  // what was completed before the end stays completed
  const std::vector<std::uint16_t> slots = completions.in_flight();
  std::vector<bereaved_request> requests;
  for (const std::uint16_t slot : slots) {
    record& r = completions.at(slot);
    r.started = completions.started(r.lane) >= r.place;
    requests.push_back({.ticket = r.ticket,
                        .started = r.started,
                        .answered = r.answered,
                        .retry_safe = safe_to_repeat(r.operands),
                        .kills = r.kills});
  }
  const std::vector<verdict> verdicts = judge(what, requests);
  completions.detach();

  struct ending {
    std::uint16_t slot;
    error why;
  };
  std::vector<ending> endings;
  const bool culprit_named = std::ranges::count(verdicts, verdict::culprit) > 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    record& r = completions.at(slots[i]);
    std::optional<error> end;
    switch (verdicts[i]) {
      case verdict::forget:
        continue;  // dropped at the next activation
      case verdict::replay:
        // What it reads may have become undefined by this very loss.
        if (std::string culprit = tainted_operand(r.operands); !culprit.empty()) {
          end = error{.code = errc::tainted_buffer, .message = std::move(culprit)};
          break;
        }
        clear_overwritten_taints(r.operands);
        if (r.started && !culprit_named) ++r.kills;
        replayed_.fetch_add(r.started ? 1 : 0, std::memory_order_relaxed);
        continue;
      case verdict::culprit: {
        const std::uint64_t digest = parts_.requests.digest(slots[i]);
        const std::lock_guard lock(mutex_);
        ++kills_by_digest_[digest];
        has_quarantine_.store(true, std::memory_order_relaxed);
        end = why;
        break;
      }
      case verdict::abort:
        end = error{.code = errc::aborted,
                    .message = fmt::format("its worker was lost while it ran ({}), and it updates "
                                           "in place, so it is not safe to run again",
                                           why.message)};
        break;
      case verdict::poisonous:
        end = error{.code = errc::poisonous,
                    .message = fmt::format("it was running in {} lost workers", r.kills + 1)};
        break;
    }
    taint_outputs(r.operands, r.type->name, r.ticket);
    endings.push_back({slots[i], std::move(*end)});
  }
  for (ending& e : endings)
    completions.drop(e.slot, std::move(e.why));
  completions.leave_role();
}

bool supervisor::note_restart(clock::time_point now) {
  const restart_budget& budget = parts_.config.restarts;
  while (!restarts_.empty() && now - restarts_.front() >= budget.window)
    restarts_.pop_front();
  const auto earlier = static_cast<std::int32_t>(restarts_.size());
  if (earlier >= budget.restarts) return false;
  restarts_.push_back(now);
  activate_after_ = earlier == 0 ? now : now + backoff_after(earlier);
  return true;
}

supervisor::clock::duration supervisor::backoff_after(int failures) {
  const backoff& b = parts_.config.backoff;
  const double full = static_cast<double>(b.initial.count()) * std::pow(b.factor, failures - 1);
  const double limited = std::min(full, static_cast<double>(b.longest.count()));
  std::uniform_real_distribution<double> spread(1.0 - b.jitter, 1.0 + b.jitter);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(limited * spread(random_)));
}

void supervisor::give_up(error why) {
  if (state() == device_state::stopped) return;
  error reason = std::move(why);
  if (!permanent(reason.code) && reason.code != errc::device_stopped) {
    reason.message = fmt::format(
        "given up after {} restarts in {} s; the last fault: {}", restarts_.size(),
        std::chrono::duration_cast<std::chrono::seconds>(parts_.config.restarts.window).count(),
        reason.message);
    reason.code = errc::device_stopped;
  }
  reason.device = parts_.ordinal;
  reason.generation = generation();
  {
    const std::lock_guard lock(mutex_);
    if (!stop_reason_) stop_reason_ = reason;
    if (!health_.last_fault && reason.message != "the device was let go") {
      health_.last_fault = reason;
    }
    health_.standby_ready = false;
  }
  // First refuse, then fail what waits, then end the workers.
  state_.store(device_state::stopped, std::memory_order_release);
  parts_.device_memory.close();
  parts_.completions.take_role();
  parts_.completions.poll();
  parts_.completions.detach();
  parts_.completions.leave_role();
  if (active_) active_->end();
  parts_.completions.take_role();
  fail_everything(reason);
  parts_.completions.leave_role();
  active_.reset();
  next_.reset();
  next_start_ = clock::time_point::min();
  pid_.store(-1, std::memory_order_release);
  publish(device_state::stopped);
}

void supervisor::condemn(error why) {
  error reason = std::move(why);
  reason.code = errc::device_condemned;
  reason.message = fmt::format("isolation::thread cannot survive this, the process should end: {}",
                               reason.message);
  {
    const std::lock_guard lock(mutex_);
    stop_reason_ = reason;
    health_.last_fault = reason;
  }
  state_.store(device_state::condemned, std::memory_order_release);
  parts_.completions.take_role();
  parts_.completions.poll();
  parts_.completions.detach();
  fail_everything(reason);
  parts_.completions.leave_role();
  active_->abandon();
  publish(device_state::condemned);
}

// With the role, and with no worker that could still complete anything.
void supervisor::fail_everything(const error& why) {
  reactor& completions = parts_.completions;
  do {
    completions.walk();
    for (const std::uint16_t slot : completions.in_flight())
      completions.drop(slot, why);
    // A sender that passed the gate before it closed publishes any moment.
  } while (completions.walked_ticket() < parts_.requests.next_ticket() ||
           completions.in_flight_count() > 0);
}

}  // namespace troupe
