// What becomes of a worker that is lost, and of each request that it had.
#include "device/submission/operands.hpp"
#include "device/supervision/loss/what_had_begun.hpp"
#include "device/supervision/supervisor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <tuple>
#include <utility>

namespace troupe {
namespace {

using namespace std::chrono_literals;

std::string signal_name(int signal) {
  const char* abbreviation = ::sigabbrev_np(signal);
  return abbreviation != nullptr ? fmt::format("SIG{}", abbreviation)
                                 : fmt::format("signal {}", signal);
}

// The request whose executor the process was calling when it left, if there was just one.
std::optional<std::uint64_t> only_one_called(const wire::worker_header& ended) noexcept {
  std::optional<std::uint64_t> ticket;
  for (const wire::lane_mark& lane : ended.lanes) {
    const std::uint64_t calls = lane.calls.load(std::memory_order_relaxed);
    if (calls == 0) continue;
    if (ticket) return std::nullopt;
    ticket = calls - 1;
  }
  return ticket;
}

}  // namespace

void supervisor::lose_active(sign_of_loss sign) {
  lost_at_ = sign.at;
  sign.why.device = parts_.ordinal;
  sign.why.generation = generation();
  if (!active_->is_process()) return condemn(std::move(sign.why));

  if (is_mapping_of(sign.what.culprit_ticket)) {
    sign.what.culprit_ticket.reset();
    sign.what.culprit_known = false;
  }
  state_.store(device_state::recovering, std::memory_order_release);
  if (draining_) reap_and_settle();
  // What has completed since is answered: whether anything has since the last loss counts.
  parts_.completions.take_role();
  parts_.completions.poll();
  parts_.completions.leave_role();
  // Where only one process may have the device, too, the next one starts after the last has gone.
  // And where this may be the end it is known first who is to blame.
  const bool may_be_the_end = !is_explained(sign.what, {}) && succession_.is_spent(sign.at);
  const bool reaps_first =
      !parts_.device_memory.on_device() || parts_.backend.description.one_process || may_be_the_end;
  if (reaps_first && !sign.ended) {
    // Killed if it still runs, and reaped in any case: after this none of its stores can land.
    const os::exit_report report = active_->end();
    if (std::exchange(sign.ask_its_end, false)) {
      std::tie(sign.what, sign.why) = explain(*active_, report);
    }
    sign.ended = true;
  }
  {
    const std::lock_guard lock(mutex_);
    health_.last_fault = sign.why;
  }
  active_->kill();
  bool explained = is_explained(sign.what, {});
  if (sign.ended) {
    explained = settle(sign.what, sign.why);
    draining_ = {.worker = std::move(active_), .sign = sign, .held = {}, .ended_before = {}};
    reap_and_settle();  // it has been reaped, and nothing will tell of its end again
  } else if (sign.stands_still) {
    explained = settle(sign.what, sign.why);
    draining_ = {.worker = std::move(active_), .sign = sign, .held = {}, .ended_before = {}};
  } else {
    hold_back(sign);
  }
  pid_.store(-1, std::memory_order_release);
  // Until it is reaped it may turn out to be explained; see `reap_and_settle`.
  if (!succession_.note_loss(sign.at, explained)) return give_up(std::move(sign.why));
  if (draining_) draining_->costs_budget = !explained;
  const clock::time_point now = current_time();
  if (succession_.start_is_due(now)) {
    start_next();
  } else if (succession_.may_serve(now)) {
    activate_next();
  }
}

// Whoever seems to be the only one that runs may be a tensor that is mapped, and never did
// anything.
bool supervisor::is_mapping_of(std::optional<std::uint64_t> ticket) const {
  if (!ticket) return false;
  reactor& completions = parts_.completions;
  completions.take_role();
  const bool mapped = std::ranges::any_of(completions.in_flight(), [&](std::uint16_t slot) {
    const record& r = completions.at(slot);
    return r.ticket == ticket && is_mapping(*r.type);
  });
  completions.leave_role();
  return mapped;
}

std::pair<loss, error> supervisor::explain(const incarnation& worker,
                                           const os::exit_report& report) const {
  // The worker has been reaped, so its report cannot change any more.
  const wire::crash_report& crash = worker.segment()->crash;
  loss what;
  error why{.code = errc::device_fault};
  if (report.signalled) {
    why.code_name = signal_name(report.code);
    why.vendor_code = report.code;
  }
  const auto reported = crash.signal.load(std::memory_order_acquire);
  const bool explained =
      reported != 0 &&
      (report.unknown || (report.signalled && reported == static_cast<std::uint32_t>(report.code)));
  if (explained) {
    why.code_name = signal_name(static_cast<int>(reported));
    why.vendor_code = static_cast<int>(reported);
  }
  if (explained && crash.from_outside != 0) {
    // Whatever ran is as innocent as under a SIGKILL.
    what.from_outside = true;
    why.message = fmt::format("killed: another process sent the worker {}", why.code_name);
  } else if (explained) {
    if (crash.has_ticket != 0) what.culprit_ticket = crash.ticket;
    why.message = fmt::format("crash: the worker process ended by {} at address {:#x}",
                              why.code_name, crash.address);
  } else if (report.signalled) {
    // What runs in the worker ends it by one of these, or without a signal. Any other, SIGKILL
    // above all, comes from the system or a person.
    constexpr std::array crashes{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    what.from_outside = std::ranges::find(crashes, report.code) == crashes.end();
    why.message = fmt::format("{}: the worker process ended by {}",
                              what.from_outside ? "killed" : "crash", why.code_name);
  } else if (report.unknown) {
    what.doubtful = true;
    why.message =
        "gone: the worker process ended, and nobody knows how: something else in this program "
        "waits for its children, or it ignores SIGCHLD";
  } else {
    what.culprit_ticket = only_one_called(*worker.segment());
    why.message = fmt::format("exit: the worker process ended with status {}", report.code);
  }
  if (is_mapping_of(what.culprit_ticket)) what.culprit_ticket.reset();
  what.of_process = !what.from_outside && !what.doubtful && !what.culprit_ticket;
  why.device = parts_.ordinal;
  why.generation = generation();
  return {what, std::move(why)};
}

// What becomes of one request that was in flight; nothing when it is to be run (again).
std::optional<error> supervisor::end_of(verdict v, std::uint16_t slot, const loss& what,
                                        const error& why, bool culprit_named) {
  record& r = parts_.completions.at(slot);
  std::optional<error> end;
  switch (v) {
    case verdict::forget:
      return std::nullopt;  // dropped at the next activation
    case verdict::replay:
      // What it reads may have become undefined by this very loss.
      if (std::string undefined = parts_.completions.taints().screen(slot); !undefined.empty()) {
        end = error{.code = errc::tainted_buffer, .message = std::move(undefined)};
        if (r.started) cause_.leave_open();
        break;
      }
      if ((r.started || r.called) && !culprit_named && !what.from_outside) {
        ++r.kills;
        // Next time nothing runs beside it, so that a second loss names who it was.
        parts_.requests.header(slot).alone.store(1, std::memory_order_relaxed);
      }
      if (r.started && what.from_outside) ++r.outside_kills;
      replayed_.fetch_add(r.started ? 1 : 0, std::memory_order_relaxed);
      return std::nullopt;
    case verdict::culprit:
      if (!what.by_run_limit) note_fault(slot);
      end = why;
      break;
    case verdict::abort:
      end = error{
          .code = errc::aborted,
          .message = fmt::format(
              "its worker was lost while it ran ({}); {}, so it cannot be run again", why.message,
              safe_to_repeat(r.operands) ? "it is unknown which request of the lane was running"
                                         : "it reads what it writes")};
      break;
    case verdict::too_often:
      end = error{
          .code = errc::aborted,
          .message = fmt::format("{} workers were killed from outside while it ran; the last: {}",
                                 r.outside_kills + 1, why.message)};
      break;
    case verdict::poisonous:
      end = error{
          .code = errc::poisonous,
          .message = fmt::format("quarantined: {} workers were lost while it ran", r.kills + 1)};
      break;
  }
  parts_.completions.taints().taint_outputs(slot);
  return end;
}

// With the role. The first one finds content that nobody has counted yet: what is in flight says
// how much of it each request has found.
void supervisor::note_fault(std::uint16_t slot) {
  reactor& completions = parts_.completions;
  quarantine_book& quarantine = completions.quarantine();
  if (!quarantine.counts()) {
    quarantine.begin_to_count();
    for (const std::uint16_t one : completions.in_flight()) {
      quarantine.recognise(completions.at(one), parts_.requests.digest(one));
      quarantine.note_writes(completions.at(one));
    }
  }
  quarantine.note_fault(completions.at(slot), completions.text_of(slot), current_time());
}

// Decides what becomes of every request in flight, in the order sent, and answers those that end.
// True where somebody is named for it.
bool supervisor::settle(const loss& what, const error& why) {
  reactor& completions = parts_.completions;
  completions.take_role();
  completions.poll();  // what was completed before the end stays completed
  const std::vector<std::uint16_t> slots = completions.in_flight();
  std::vector<request_at_loss> requests;
  mapped_tensors_in_flight mapped;
  for (const std::uint16_t slot : slots) {
    record& r = completions.at(slot);
    // Where a lane's mark cannot be, what it was given may have run, and what came after it, too:
    // nothing of it is run again, because it might read what has been overwritten since.
    const bool known = completions.mark_can_be(r.lane);
    const std::uint64_t begun = known ? completions.started(r.lane) : completions.given(r.lane);
    r.started = !mapped.hold_back(r) && !r.withdrawn && begun >= r.place;
    r.called = may_have_ended(what, *active_->segment(), r);
    r.interrupted = r.interrupted || r.started;
    requests.push_back(at_loss(r, known));
  }
  const std::vector<verdict> verdicts = judge(what, requests);
  cause_.note_loss(what, why, completions.last_ended(), requests, verdicts);
  completions.detach();

  struct ending {
    std::uint16_t slot;
    error why;
  };
  std::vector<ending> endings;
  const bool culprit_named =
      what.culprit_known || std::ranges::count(verdicts, verdict::culprit) > 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (auto end = end_of(verdicts[i], slots[i], what, why, culprit_named)) {
      endings.push_back({slots[i], std::move(*end)});
    }
  }
  for (ending& e : endings)
    completions.drop(e.slot, std::move(e.why));
  look_for_cause();
  completions.leave_role();
  return is_explained(what, verdicts);
}

// With the role.
void supervisor::look_for_cause() {
  auto fault = cause_.look();
  if (!fault) return;
  const std::lock_guard lock(mutex_);
  ++health_.unexplained_faults;
  if (health_.last_fault && health_.last_fault->generation == fault->generation) {
    health_.last_fault = std::move(fault);
  }
}

// With the role: the worker in service wrote what cannot be.
std::optional<sign_of_loss> supervisor::protocol_violation() {
  auto violation = parts_.completions.take_violation();
  if (!violation || !active_) return std::nullopt;
  return sign_of_loss{.why = *std::move(violation), .at = current_time()};
}

void supervisor::on_alarm() {
  // The end of a lost worker raises alarms of its own.
  constexpr auto aftermath = 20ms;
  if (!active_ || !active_->is_process() || draining_ || current_time() - reaped_at_ < aftermath) {
    return;
  }
  auto sign = watch_.check_alarm(workers(), *parts_.around, *parts_.backend.source);
  if (sign) lose_active(*std::move(sign));
}

}  // namespace troupe
