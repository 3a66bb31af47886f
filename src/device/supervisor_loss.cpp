// What becomes of a worker that is lost, and of each request that it had.
#include "device/operands.hpp"
#include "device/supervisor.hpp"

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

// A lease holds its place again in the next worker. Until the program gives it back nothing that
// comes after it can have begun either, even where a queue has it already.
class lent_tensors {
 public:
  /// Asked of the unfinished requests in the order sent: true for one that cannot have begun.
  [[nodiscard]] bool hold_back(const record& r) {
    const bool held = is_lease(*r.type) ? !given_back(r) : follows_one(r);
    if (held) held_.push_back(&r);
    return held || is_lease(*r.type);
  }

 private:
  // Acquire: a flag that is not set now was not set when the worker ended.
  static bool given_back(const record& lease) {
    std::uint32_t* flag = nullptr;  // the last operand
    lease.operands.for_each([&](const kept_operand& o) {
      flag = reinterpret_cast<std::uint32_t*>(o.buffer->address + o.where.begin);
    });
    return flag == nullptr || std::atomic_ref(*flag).load(std::memory_order_acquire) != 0;
  }
  [[nodiscard]] bool follows_one(const record& r) const {
    return std::ranges::any_of(held_, [&](const record* earlier) {
      return earlier->lane == r.lane || in_conflict(earlier->operands, r.operands);
    });
  }

  std::vector<const record*> held_;
};

std::string signal_name(int signal) {
  const char* abbreviation = ::sigabbrev_np(signal);
  return abbreviation != nullptr ? fmt::format("SIG{}", abbreviation)
                                 : fmt::format("signal {}", signal);
}

// Whether it may have ended its process although it need not have begun: one that ended by itself
// was calling its executor then. (A lease has none to speak of, and what was withdrawn is passed
// over.)
bool may_have_ended(const loss& what, const wire::worker_header& ended, const record& r) noexcept {
  return what.of_process && !r.withdrawn && !is_lease(*r.type) &&
         ended.lanes[r.lane].calls.load(std::memory_order_relaxed) == r.ticket + 1;
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

  if (is_lent(sign.what.culprit_ticket)) {
    sign.what.culprit_ticket.reset();
    sign.what.culprit_known = false;
  }
  state_.store(device_state::recovering, std::memory_order_release);
  if (dying_) bury();
  // What has completed since is answered: whether anything has since the last loss counts.
  parts_.completions.take_role();
  parts_.completions.poll();
  parts_.completions.leave_role();
  // Where only one process may have the device, too, the next one starts after the last has gone.
  // And where this may be the end it is known first who is to blame.
  const bool may_be_the_end = !is_explained(sign.what, {}) && losses_.spent(sign.at) >= budget();
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
    dying_ = {.worker = std::move(active_), .sign = sign, .held = {}, .ended_before = {}};
    bury();  // it has been reaped, and nothing will tell of its end again
  } else if (sign.stands_still) {
    explained = settle(sign.what, sign.why);
    dying_ = {.worker = std::move(active_), .sign = sign, .held = {}, .ended_before = {}};
  } else {
    hold_back(sign);
  }
  pid_.store(-1, std::memory_order_release);
  // Until it is reaped it may turn out to be explained; see `bury`.
  using enum loss_history::cost;
  if (!note_loss(sign.at, explained ? none : one)) return give_up(std::move(sign.why));
  if (dying_) dying_->costs_budget = !explained;

  failed_standbys_.clear();
  if (!next_) {
    // However long a standby that failed to start was to be left alone.
    next_start_ = activate_after_;
    if (current_time() >= next_start_) start_next();
  } else if (next_can_serve() && current_time() >= activate_after_) {
    activate_next();
  }
}

// Whoever seems to be the only one that runs may be a tensor that is lent, and never did anything.
bool supervisor::is_lent(std::optional<std::uint64_t> ticket) const {
  if (!ticket) return false;
  reactor& completions = parts_.completions;
  completions.take_role();
  const bool lent = std::ranges::any_of(completions.in_flight(), [&](std::uint16_t slot) {
    const record& r = completions.at(slot);
    return r.ticket == ticket && is_lease(*r.type);
  });
  completions.leave_role();
  return lent;
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
  if (is_lent(what.culprit_ticket)) what.culprit_ticket.reset();
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
        if (r.started) unsolved_.reset();  // it is not run again, so whether it was it stays open
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
      if (!what.by_run_limit) {
        const std::uint64_t digest = parts_.requests.digest(slot);
        const std::lock_guard lock(mutex_);
        ++kills_by_digest_[digest];
        has_quarantine_.store(true, std::memory_order_relaxed);
      }
      end = why;
      break;
    case verdict::abort:
      end = error{.code = errc::aborted,
                  .message = fmt::format(
                      "its worker was lost while it ran ({}), and {}, so it is not safe to run "
                      "again",
                      why.message,
                      safe_to_repeat(r.operands) ? "nobody knows which of its lane's requests ran"
                                                 : "it updates in place")};
      break;
    case verdict::too_often:
      end = error{.code = errc::aborted,
                  .message = fmt::format("it was running in {} workers that were killed from "
                                         "outside, the last one so: {}",
                                         r.outside_kills + 1, why.message)};
      break;
    case verdict::poisonous:
      end = error{.code = errc::poisonous,
                  .message = fmt::format("it was running in {} lost workers", r.kills + 1)};
      break;
  }
  parts_.completions.taints().taint_outputs(slot);
  return end;
}

// Decides what becomes of every request in flight, in the order sent, and answers those that end.
// True where somebody is named for it.
bool supervisor::settle(const loss& what, const error& why) {
  reactor& completions = parts_.completions;
  completions.take_role();
  completions.poll();  // what was completed before the end stays completed
  const std::vector<std::uint16_t> slots = completions.in_flight();
  std::vector<bereaved_request> requests;
  lent_tensors lent;
  for (const std::uint16_t slot : slots) {
    record& r = completions.at(slot);
    // Where a lane's mark cannot be, what it was given may have run, and what came after it, too:
    // nothing of it is run again, because it might read what has been overwritten since.
    const bool known = completions.mark_can_be(r.lane);
    const std::uint64_t begun = known ? completions.started(r.lane) : completions.given(r.lane);
    r.started = !lent.hold_back(r) && !r.withdrawn && begun >= r.place;
    r.called = may_have_ended(what, *active_->segment(), r);
    r.interrupted = r.interrupted || r.started;
    requests.push_back({.ticket = r.ticket,
                        .started = r.started,
                        .called = r.called,
                        .answered = r.answered,
                        .retry_safe = known && safe_to_repeat(r.operands),
                        .kills = r.kills,
                        .outside_kills = r.outside_kills});
  }
  const std::vector<verdict> verdicts = judge(what, requests);
  seek_cause(what, why, completions.last_ended(), requests, verdicts);
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

// With the role. The workers have ended, or are not waited for, and nothing is run again: what they
// were running is left as it is, and says so in memory that outlives the device.
void supervisor::note_begun() {
  reactor& completions = parts_.completions;
  if (dying_) forget_ended();
  const auto of_dying = dying_ ? std::optional<final_marks>(*dying_) : std::nullopt;
  std::span<const dying_worker::held_request> held;  // a part of what is in flight, in its order
  if (dying_) held = dying_->held;
  lent_tensors lent;
  for (const std::uint16_t slot : completions.in_flight()) {
    record& r = completions.at(slot);
    const bool is_held = !held.empty() && held.front().slot == slot;
    const std::uint64_t given =
        completions.mark_can_be(r.lane) ? completions.started(r.lane) : completions.given(r.lane);
    const bool begun = is_held ? of_dying->can_have_begun(held.front()) : given >= r.place;
    if (is_held) held = held.subspan(1);
    const bool is_lent = lent.hold_back(r);
    if (!is_lent && !r.withdrawn && begun) r.interrupted = true;
  }
}

// Whoever is run again and ends well has not done it; see `look_for_cause`.
void supervisor::seek_cause(const loss& what, const error& why, const std::string& ended_before,
                            std::span<const bereaved_request> requests,
                            std::span<const verdict> verdicts) {
  auto suspects = suspects_of(what, requests, verdicts);
  if (!suspects) {
    unsolved_.reset();
  } else if (what.of_device) {
    unsolved_ = {.why = why,
                 .ended_before = ended_before,
                 .suspects = *std::move(suspects),
                 .evasions = parts_.completions.evasions()};
  }
}

// The worker was killed and its queue may go on for a while: whatever it was given may run, or not.
// All that is held back; the next worker begins with the rest.
void supervisor::hold_back(const sign_of_loss& sign) {
  // SIGKILL interrupts what runs on other processors within microseconds; what the worker has taken
  // up by now it has also written down.
  constexpr auto signal_delivery = 100us;
  parts_.around->pause(signal_delivery);
  reactor& completions = parts_.completions;
  completions.take_role();
  completions.poll();
  dying_worker dying{
      .worker = nullptr, .sign = sign, .held = {}, .ended_before = completions.last_ended()};
  for (const std::uint16_t slot : completions.in_flight()) {
    const record& r = completions.at(slot);
    if (completions.given(r.lane) < r.place) continue;
    dying.held.push_back({.slot = slot, .ticket = r.ticket, .lane = r.lane, .place = r.place});
    parts_.requests.header(slot).held.store(wire::hold::until_released, std::memory_order_relaxed);
  }
  completions.detach();
  // Who is known to be guilty need not wait for the funeral.
  for (dying_worker::held_request& held : dying.held) {
    if (held.ticket != sign.what.culprit_ticket) continue;
    held.accused = true;
    auto end = end_of(verdict::culprit, held.slot, sign.what, sign.why, true);
    if (end && !completions.at(held.slot).answered) {
      completions.answer_early(held.slot, std::move(*end));
    }
  }
  completions.screen_in_flight();
  if (dying.held.empty()) {
    seek_cause(sign.what, sign.why, dying.ended_before, {}, {});
    look_for_cause();
  }
  completions.leave_role();
  dying.worker = std::move(active_);
  dying_ = std::move(dying);
}

// With the role. The next worker, which is to leave alone what is held, may have said that it is
// done.
void supervisor::forget_ended() {
  std::erase_if(dying_->held, [this](const dying_worker::held_request& h) {
    const record& r = parts_.completions.at(h.slot);
    return !r.in_flight || r.ticket != h.ticket;
  });
}

// Reaps a worker that was killed. From here on its marks are final: what it was given and had
// completed is answered, the rest judged, and the next worker may run what is to be run again.
void supervisor::bury() {
  const os::exit_report report = dying_->worker->end();
  buried_at_ = current_time();
  if (std::exchange(after_burial_, false)) next_start_ = buried_at_;
  if (dying_->sign.ask_its_end) {
    std::tie(dying_->sign.what, dying_->sign.why) = explain(*dying_->worker, report);
    const std::lock_guard lock(mutex_);
    health_.last_fault = dying_->sign.why;
  }
  loss& what = dying_->sign.what;
  what.culprit_known = what.culprit_known ||
                       std::ranges::any_of(dying_->held, [&](const dying_worker::held_request& h) {
                         return h.ticket == what.culprit_ticket;
                       });
  const error& why = dying_->sign.why;
  const wire::worker_header* segment = dying_->worker->segment();
  reactor& completions = parts_.completions;
  const auto refund_if = [&](bool explained) {
    if (explained && std::exchange(dying_->costs_budget, false)) losses_.refund(dying_->sign.at);
  };
  refund_if(is_explained(what, {}));
  if (dying_->held.empty()) {
    dying_.reset();
    return;
  }
  completions.take_role();
  forget_ended();
  const final_marks marks(*dying_);
  std::vector<std::uint16_t> slots;
  std::vector<bereaved_request> requests;
  std::vector<bool> accused;
  lent_tensors lent;
  for (const dying_worker::held_request& held : dying_->held) {
    record& r = completions.at(held.slot);
    if (marks.completed(held)) {
      if (!r.answered) completions.answer_completed(held.slot, segment, marks.replied(held));
      continue;
    }
    // What was withdrawn is passed over, and may look begun all the same.
    // Where the mark cannot be, it was given to its queue and may have run; see `settle`.
    const bool known = marks.known(held);
    r.started = !lent.hold_back(r) && !r.withdrawn && marks.can_have_begun(held);
    r.called = may_have_ended(what, *segment, r);
    r.interrupted = r.interrupted || r.started;
    slots.push_back(held.slot);
    accused.push_back(held.accused);
    requests.push_back({.ticket = held.ticket,
                        .started = r.started,
                        .called = r.called,
                        .answered = r.answered,
                        .retry_safe = known && safe_to_repeat(r.operands),
                        .kills = r.kills,
                        .outside_kills = r.outside_kills});
  }
  const std::vector<verdict> verdicts = judge(what, requests);
  seek_cause(what, why, dying_->ended_before, requests, verdicts);
  refund_if(is_explained(what, verdicts));
  const bool culprit_named =
      what.culprit_known || std::ranges::count(verdicts, verdict::culprit) > 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (accused[i]) continue;
    auto end = end_of(verdicts[i], slots[i], what, why, culprit_named);
    if (end && !completions.at(slots[i]).answered) {
      completions.answer_early(slots[i], std::move(*end));
    }
  }
  // A request that was sent since the worker was lost may read what has become undefined only now.
  // It has not run: it waits for what is held.
  do {
    completions.screen_in_flight();
  } while (completions.taints().take_disappointment());
  for (const dying_worker::held_request& held : dying_->held) {
    record& r = completions.at(held.slot);
    r.withdrawn = r.answered;
    parts_.requests.header(held.slot).held.store(wire::hold::none, std::memory_order_relaxed);
  }
  parts_.requests.release_held();
  look_for_cause();
  completions.leave_role();
  dying_.reset();
}

}  // namespace troupe
