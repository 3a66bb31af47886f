#include "device/supervision/loss/settlement.hpp"

#include "device/completion/reactor.hpp"
#include "device/mailbox/mailbox.hpp"
#include "device/mailbox/operands.hpp"
#include "device/supervision/loss/begun_requests.hpp"
#include "device/supervision/loss/exit_cause.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

using namespace std::chrono_literals;

namespace {

void note_kill(record& r, std::chrono::steady_clock::time_point at) noexcept {
  if (r.losses.outside_kills++ == 0) r.first_killed_at = at;
}

error killed_too_often(const loss_marks& losses, const error& why) {
  return {.code = errc::aborted,
          .message = fmt::format("{} workers were killed from outside while it ran; the last: {}",
                                 losses.outside_kills + 1, why.message),
          .code_name = why.code_name,
          .vendor_code = why.vendor_code};
}

}  // namespace

settlement::outcome settlement::take_over(std::unique_ptr<incarnation>&& worker,
                                          const sign_of_loss& sign) {
  // SIGKILL interrupts other processors within microseconds; the worker has already recorded every
  // request that it took by now.
  constexpr auto signal_delivery = 100us;
  if (!sign.marks_are_final()) environment_.pause(signal_delivery);
  const role held(completions_);
  completions_.poll(held);  // requests completed before the end stay completed
  // Move the worker last: if memory runs out before, its marks must still be readable.
  draining_worker lost{
      .worker = nullptr, .sign = sign, .ended_before = completions_.last_ended(held)};
  lost.worker = std::move(worker);
  draining_ = std::move(lost);
  hold(held);
  completions_.detach(held);
  outcome left{.explained = is_explained(sign.what, {})};
  if (sign.marks_are_final() || draining_->held.empty()) {
    settle(held, left);
  } else {
    fail_known_culprit(held);
    completions_.screen_in_flight(held);
  }
  draining_->costs_budget = !left.explained;
  left.refunds = std::exchange(refunds_, {});
  left.of_requests = std::exchange(found_, {});
  return left;
}

std::optional<error> settlement::reap() {
  const os::exit_report report = draining_->worker->end();
  reaped_at_ = environment_.now();
  sign_of_loss& sign = draining_->sign;
  if (!std::exchange(sign.ask_its_end, false)) return std::nullopt;
  explain_by_exit(role(completions_), completions_, *draining_->worker->segment(), report, sign);
  sign.why.message += draining_->worker->last_words();
  return sign.why;
}

settlement::outcome settlement::settle_reaped() {
  const sign_of_loss& sign = draining_->sign;
  outcome left;
  if (holds_back()) {
    settle(role(completions_), left);
  } else {
    left.explained = is_explained(sign.what, {});
  }
  left.refunds = std::exchange(refunds_, {});
  left.of_requests = std::exchange(found_, {});
  if (left.explained && draining_->costs_budget) left.refunds.push_back(sign.at);
  draining_.reset();
  return left;
}

void settlement::end_worker() noexcept {
  if (draining_) draining_->worker->end();
}

// The worker may or may not run the requests it was given; the next one leaves them alone.
void settlement::hold(const role& held) {
  for (const std::uint16_t slot : completions_.in_flight(held)) {
    const record& r = completions_.at(slot);
    const bool given = completions_.given(held, r.lane) >= r.place;
    if (!given && !names(r)) continue;
    draining_->held.push_back(
        {.slot = slot, .ticket = r.ticket, .lane = r.lane, .place = r.place, .given = given});
    // A request that the program has not opened yet is held back by that.
    std::atomic<wire::hold>& hold = requests_.header(slot).held;
    if (hold.load(std::memory_order_relaxed) == wire::hold::none) {
      hold.store(wire::hold::until_released, std::memory_order_relaxed);
    }
  }
}

// True if the worker died in this request's executor, or its crash report names it. The marks may
// not show that it had begun. The report is there before the first sign of the end; the exit status
// comes later.
bool settlement::names(const record& r) const {
  const loss& what = draining_->sign.what;
  const wire::worker_header& ended = *draining_->worker->segment();
  const bool reported = ended.crash.signal.load(std::memory_order_acquire) != 0 &&
                        ended.crash.has_ticket != 0 && ended.crash.ticket == r.ticket;
  return reported || r.ticket == what.culprit_ticket || may_have_ended(what, ended, r);
}

// Also which request of a list was running, for its error.
void settlement::note_interruption(record& r) const noexcept {
  r.losses.interrupted = r.losses.interrupted || r.losses.started;
  r.losses.part = static_cast<std::uint16_t>(
      draining_->worker->segment()->lanes[r.lane].part.load(std::memory_order_relaxed));
}

// The known culprit need not wait for the final marks.
void settlement::fail_known_culprit(const role& held) {
  for (draining_worker::held_request& h : draining_->held) {
    if (h.ticket != draining_->sign.what.culprit_ticket) continue;
    h.accused = true;
    note_interruption(completions_.at(h.slot));
    name_culprit(held, h.slot);
    answer(held, h.slot, end_of(held, verdict::culprit, h.slot, true));
  }
}

// The marks are final: completed requests are answered, the others are judged in the order sent,
// and the next worker may run those that run again.
void settlement::settle(const role& held, outcome& left) {
  loss& what = draining_->sign.what;
  // The culprit was in flight, so no other request is to blame, even if it has completed since.
  what.culprit_known =
      what.culprit_known ||
      std::ranges::any_of(draining_->held, [&](const draining_worker::held_request& h) {
        return h.ticket == what.culprit_ticket;
      });
  forget_ended(held);
  const wire::worker_header* segment = draining_->worker->segment();
  const final_marks marks(*draining_);
  std::vector<const draining_worker::held_request*> unfinished;
  std::vector<request_at_loss> requests;
  mapped_tensors_in_flight mapped;
  for (const draining_worker::held_request& h : draining_->held) {
    record& r = completions_.at(h.slot);
    if (marks.completed(h)) {
      if (!r.answered() || r.early) {
        completions_.answer_completed(held, h.slot, segment, marks.replied(h));
      }
      continue;
    }
    // A withdrawn request is passed over, and may look begun all the same.
    // If a lane's mark is out of range, all its requests and those after them may have run: none is
    // run again, because it might read memory that was overwritten since.
    r.losses.started = !mapped.hold_back(r) && !r.withdrawn() && marks.can_have_begun(h);
    r.losses.called = may_have_ended(what, *segment, r);
    note_interruption(r);
    unfinished.push_back(&h);
    requests.push_back(at_loss(r, marks.known(h), draining_->sign.at));
  }
  const std::vector<verdict> verdicts = judge(what, requests);
  cause_.note_loss(held, what, draining_->sign.why, draining_->ended_before, requests, verdicts);
  const bool culprit_named =
      what.culprit_known || std::ranges::count(verdicts, verdict::culprit) > 0;
  for (std::size_t i = 0; i < unfinished.size(); ++i) {
    const std::uint16_t slot = unfinished[i]->slot;
    if (verdicts[i] == verdict::culprit || verdicts[i] == verdict::poisonous) {
      name_culprit(held, slot);
    }
    if (!unfinished[i]->accused) answer(held, slot, end_of(held, verdicts[i], slot, culprit_named));
  }
  // A request sent since the worker was lost may read content that has become undefined only now.
  // It has not run: it waits for held requests.
  do {
    completions_.screen_in_flight(held);
  } while (completions_.taints().take_invalidation());
  release(held);
  left.explained = is_explained(what, verdicts);
  left.unexplained = cause_.look(held);
}

// Returns the end of one request that the worker had not finished; nothing if it is to run (again).
std::optional<error> settlement::end_of(const role& held, verdict v, std::uint16_t slot,
                                        bool culprit_named) {
  const loss& what = draining_->sign.what;
  const error& why = draining_->sign.why;
  record& r = completions_.at(slot);
  loss_marks& losses = r.losses;
  std::optional<error> end;
  switch (v) {
    case verdict::forget:
      completions_.ends(held).forget(slot);
      return std::nullopt;
    case verdict::replay:
      // Its inputs may have become undefined by this very loss.
      end = completions_.taints().screen(slot);
      if (end) {
        // It is not run again, so it stays unknown whether it caused an earlier fault.
        if (losses.started || losses.kills > 0) cause_.leave_open();
        break;
      }
      if ((losses.started || losses.called) && !culprit_named && !what.from_outside &&
          r.lane != wire::world_lane) {  // it waits for others, and is there at every loss
        suspect(slot);
      }
      if (losses.started && what.from_outside) note_kill(r, draining_->sign.at);
      if (r.lane == wire::world_lane) requests_.header(slot).sequence |= lane_context::repeated;
      replayed_.fetch_add(losses.started ? 1 : 0, std::memory_order_relaxed);
      if (losses.started) ++found_.run_again;
      return std::nullopt;
    case verdict::culprit:
      if (!what.by_run_limit) {
        note_fault(held, slot);
        // It was also one of several suspects when an earlier worker was lost.
        if (losses.kills > 0) refunds_.push_back(losses.suspected_at);
      }
      end = why;
      break;
    case verdict::abort:
      end = error{
          .code = errc::aborted,
          .message = fmt::format(
              "its worker was lost while it ran ({}); {}, so it cannot be run again", why.message,
              safe_to_repeat(*r.type, r.operands)
                  ? "it is unknown which request of the lane was running"
                  : "it reads what it writes")};
      break;
    case verdict::too_often:
      end = killed_too_often(losses, why);
      break;
    case verdict::poisonous:
      end = error{.code = errc::poisonous,
                  .message = fmt::format("quarantined: {} workers were lost while it ran",
                                         losses.kills + 1)};
      break;
  }
  found_.tainted += completions_.ends(held).taint_outputs(slot, *end);
  return end;
}

// The request is one of those that may have caused the loss. It runs alone next time, so that a
// second loss names it.
void settlement::suspect(std::uint16_t slot) {
  loss_marks& losses = completions_.at(slot).losses;
  ++losses.kills;
  losses.suspected_at = draining_->sign.at;
  requests_.header(slot).alone.store(1, std::memory_order_relaxed);
}

void settlement::name_culprit(const role& held, std::uint16_t slot) {
  if (found_.culprit.empty()) found_.culprit = completions_.ends(held).text_of(slot);
}

// If everything is settled at once, no worker has the request any more, and its slot
// is free before its answer runs. Otherwise the next worker may have it, and passes it over.
void settlement::answer(const role& held, std::uint16_t slot, std::optional<error> end) {
  if (!end) return;
  ++found_.failed;
  if (draining_->sign.marks_are_final()) {
    completions_.drop(held, slot, *std::move(end));
  } else if (!completions_.at(slot).answered()) {
    completions_.answer_early(held, slot, *std::move(end));
  }
}

// The first fault begins the counting of content: the requests in flight tell how
// much of it each has seen.
void settlement::note_fault(const role& held, std::uint16_t slot) {
  quarantine_book& quarantine = completions_.quarantine();
  if (!quarantine.counts()) {
    quarantine.begin_to_count();
    for (const std::uint16_t one : completions_.in_flight(held)) {
      quarantine.recognise(completions_.at(one), requests_.digest(one));
      quarantine.note_writes(completions_.at(one));
    }
  }
  auto refused = quarantine.note_fault(completions_.at(slot), completions_.ends(held).text_of(slot),
                                       environment_.now());
  if (refused) found_.quarantined.push_back(*std::move(refused));
}

// Forgets dropped requests. The next worker, which leaves held requests alone, may also have
// completed some.
void settlement::forget_ended(const role&) {
  std::erase_if(draining_->held, [this](const draining_worker::held_request& h) {
    const record& r = completions_.at(h.slot);
    return !r.in_flight() || r.ticket != h.ticket;
  });
}

// Lets the held requests continue, in the next worker, which may already serve.
void settlement::release(const role& held) {
  forget_ended(held);
  for (const draining_worker::held_request& h : draining_->held) {
    record& r = completions_.at(h.slot);
    if (r.answered()) r.now = record::stage::withdrawn;
    std::atomic<wire::hold>& hold = requests_.header(h.slot).held;
    if (hold.load(std::memory_order_relaxed) == wire::hold::until_released) {
      hold.store(wire::hold::none, std::memory_order_relaxed);
    }
  }
  draining_->held.clear();
  requests_.release_held();
}

void settlement::note_begun(const role& held) {
  if (draining_) forget_ended(held);
  const auto of_draining = draining_ ? std::optional<final_marks>(*draining_) : std::nullopt;
  std::span<const draining_worker::held_request> left;  // some of those in flight, in order
  if (draining_) left = draining_->held;
  mapped_tensors_in_flight mapped;
  for (const std::uint16_t slot : completions_.in_flight(held)) {
    record& r = completions_.at(slot);
    const bool is_held = !left.empty() && left.front().slot == slot;
    const std::uint64_t given = completions_.mark_can_be(held, r.lane)
                                    ? completions_.started(held, r.lane)
                                    : completions_.given(held, r.lane);
    const bool begun = is_held ? of_draining->can_have_begun(left.front()) : given >= r.place;
    if (is_held) left = left.subspan(1);
    const bool runs_nothing = mapped.hold_back(r);
    if (!runs_nothing && !r.withdrawn() && begun) r.losses.interrupted = true;
  }
}

}  // namespace troupe
