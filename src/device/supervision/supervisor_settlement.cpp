// A lost worker that is not reaped yet, whose queues may go on: what it had is held back until
// then.
#include "device/supervision/loss/what_had_begun.hpp"
#include "device/supervision/supervisor.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace troupe {

using namespace std::chrono_literals;

// With the role. The workers have ended, or are not waited for, and nothing is run again: what they
// were running is left as it is, and says so in memory that outlives the device.
void supervisor::note_begun() {
  reactor& completions = parts_.completions;
  if (draining_) forget_ended();
  const auto of_draining = draining_ ? std::optional<final_marks>(*draining_) : std::nullopt;
  std::span<const draining_worker::held_request> held;  // a part of what is in flight, in its order
  if (draining_) held = draining_->held;
  mapped_tensors_in_flight mapped;
  for (const std::uint16_t slot : completions.in_flight()) {
    record& r = completions.at(slot);
    const bool is_held = !held.empty() && held.front().slot == slot;
    const std::uint64_t given =
        completions.mark_can_be(r.lane) ? completions.started(r.lane) : completions.given(r.lane);
    const bool begun = is_held ? of_draining->can_have_begun(held.front()) : given >= r.place;
    if (is_held) held = held.subspan(1);
    const bool runs_nothing = mapped.hold_back(r);
    if (!runs_nothing && !r.withdrawn && begun) r.interrupted = true;
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
  draining_worker draining{
      .worker = nullptr, .sign = sign, .held = {}, .ended_before = completions.last_ended()};
  for (const std::uint16_t slot : completions.in_flight()) {
    const record& r = completions.at(slot);
    if (completions.given(r.lane) < r.place) continue;
    draining.held.push_back({.slot = slot, .ticket = r.ticket, .lane = r.lane, .place = r.place});
    parts_.requests.header(slot).held.store(wire::hold::until_released, std::memory_order_relaxed);
  }
  completions.detach();
  // Fail the known culprit now; do not wait until the process is reaped.
  for (draining_worker::held_request& held : draining.held) {
    if (held.ticket != sign.what.culprit_ticket) continue;
    held.accused = true;
    auto end = end_of(verdict::culprit, held.slot, sign.what, sign.why, true);
    if (end && !completions.at(held.slot).answered) {
      completions.answer_early(held.slot, std::move(*end));
    }
  }
  completions.screen_in_flight();
  if (draining.held.empty()) {
    cause_.note_loss(sign.what, sign.why, draining.ended_before, {}, {});
    look_for_cause();
  }
  completions.leave_role();
  draining.worker = std::move(active_);
  draining_ = std::move(draining);
}

// With the role. The next worker, which is to leave alone what is held, may have said that it is
// done.
void supervisor::forget_ended() {
  std::erase_if(draining_->held, [this](const draining_worker::held_request& h) {
    const record& r = parts_.completions.at(h.slot);
    return !r.in_flight || r.ticket != h.ticket;
  });
}

// Reaps a worker that was killed. From here on its marks are final: what it was given and had
// completed is answered, the rest judged, and the next worker may run what is to be run again.
void supervisor::reap_and_settle() {
  const os::exit_report report = draining_->worker->end();
  reaped_at_ = current_time();
  succession_.note_reaped(reaped_at_);
  if (draining_->sign.ask_its_end) {
    std::tie(draining_->sign.what, draining_->sign.why) = explain(*draining_->worker, report);
    const std::lock_guard lock(mutex_);
    health_.last_fault = draining_->sign.why;
  }
  loss& what = draining_->sign.what;
  what.culprit_known =
      what.culprit_known ||
      std::ranges::any_of(draining_->held, [&](const draining_worker::held_request& h) {
        return h.ticket == what.culprit_ticket;
      });
  const error& why = draining_->sign.why;
  const wire::worker_header* segment = draining_->worker->segment();
  reactor& completions = parts_.completions;
  const auto refund_if = [&](bool explained) {
    if (explained && std::exchange(draining_->costs_budget, false))
      succession_.refund(draining_->sign.at);
  };
  refund_if(is_explained(what, {}));
  if (draining_->held.empty()) {
    draining_.reset();
    return;
  }
  completions.take_role();
  forget_ended();
  const final_marks marks(*draining_);
  std::vector<std::uint16_t> slots;
  std::vector<request_at_loss> requests;
  std::vector<bool> accused;
  mapped_tensors_in_flight mapped;
  for (const draining_worker::held_request& held : draining_->held) {
    record& r = completions.at(held.slot);
    if (marks.completed(held)) {
      if (!r.answered) completions.answer_completed(held.slot, segment, marks.replied(held));
      continue;
    }
    // What was withdrawn is passed over, and may look begun all the same.
    // Where the mark cannot be, it was given to its queue and may have run; see `settle`.
    const bool known = marks.known(held);
    r.started = !mapped.hold_back(r) && !r.withdrawn && marks.can_have_begun(held);
    r.called = may_have_ended(what, *segment, r);
    r.interrupted = r.interrupted || r.started;
    slots.push_back(held.slot);
    accused.push_back(held.accused);
    requests.push_back(at_loss(r, known));
  }
  const std::vector<verdict> verdicts = judge(what, requests);
  cause_.note_loss(what, why, draining_->ended_before, requests, verdicts);
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
  for (const draining_worker::held_request& held : draining_->held) {
    record& r = completions.at(held.slot);
    r.withdrawn = r.answered;
    parts_.requests.header(held.slot).held.store(wire::hold::none, std::memory_order_relaxed);
  }
  parts_.requests.release_held();
  look_for_cause();
  completions.leave_role();
  draining_.reset();
}

}  // namespace troupe
