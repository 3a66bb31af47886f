// Ends a device: given up, condemned, or let go; and restarts a stopped one.
#include "base/short_of_memory.hpp"
#include "device/supervision/fork_requests.hpp"
#include "device/supervision/supervisor.hpp"

#include <fmt/format.h>

#include <utility>

namespace troupe {

void supervisor::give_up(error why, bool by_request) {
  if (state() == device_state::stopped) return;
  error reason;
  insist_on([&] { reason = reason_to_stop(why); });
  insist_on([&] { end_service(reason, by_request); });
}

error supervisor::reason_to_stop(error why) {
  // If no worker was ever ready, faults did not stop the device: report the worker's own reason.
  const bool never_up = why.code == errc::device_unavailable && generation() == 0;
  if (!is_permanent(why.code) && !never_up && why.code != errc::device_stopped) {
    const auto failures = succession_.failures(current_time());
    why.message = fmt::format(
        "given up after {} restarts in {} s (device::restart goes on, with its tensors); the last "
        "fault: {}",
        failures.losses, std::chrono::ceil<std::chrono::seconds>(failures.since_the_first).count(),
        why.message);
    why.code = errc::device_stopped;
  }
  why.device = parts_.ordinal;
  why.generation = generation();
  return why;
}

// Can be started again after it was interrupted.
void supervisor::end_service(const error& reason, bool by_request) {
  {
    const std::lock_guard lock(mutex_);
    if (!stop_reason_) stop_reason_ = reason;
    if (!health_.last_fault && reason.message != "the device was let go") {
      health_.last_fault = reason;
    }
    health_.standby_ready = false;
    health_.standby_pid.reset();
    recovery_.reset();
  }
  // First refuse, then end the workers, so that their marks are final, then fail the rest.
  pid_.store(-1, std::memory_order_release);
  state_.store(device_state::stopped, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // see `fail_latecomers`
  parts_.device_memory.close(reason);
  if (active_) active_->end();
  settlement_.end_worker();
  {
    const role held(parts_.completions);
    parts_.completions.poll(held);
    settlement_.note_begun(held);
    settlement_.forget_worker();
    parts_.completions.detach(held);
    fail_everything(held, reason);
  }
  if (parts_.backend.source) parts_.backend.source->on_fault({});
  looks_.clear();
  renewal_.end(reason);
  cause_.leave_open();
  memory_.fail_protects(reason);
  active_.reset();
  succession_.end();
  if (parts_.config.forked_by) parts_.config.forked_by->own().dismiss(reason);
  publish(device_state::stopped);
  if (life_.has_stopped) life_.has_stopped(reason, by_request);
  report_loss();  // that of a worker that was not reaped before
  note_event({.what = by_request ? device_event::kind::stopped : device_event::kind::gave_up,
              .spent = succession_.spent(current_time()),
              .budget = parts_.config.restarts.restarts,
              .why = reason});
}

// Precondition: the device has stopped.
void supervisor::serve_again() {
  {
    const std::lock_guard lock(mutex_);
    stop_reason_.reset();
  }
  is_let_go_.store(false, std::memory_order_relaxed);
  next_serves_for_ = cause::start;
  succession_.begin_anew(current_time());
  note_event({.what = device_event::kind::restarted});
  handle_faults();
  if (life_.is_restarted) life_.is_restarted();
  // Requests sent from here on wait for the worker.
  parts_.device_memory.reopen();
  state_.store(generation() == 0 ? device_state::starting : device_state::recovering,
               std::memory_order_release);
  start_next();
}

void supervisor::handle_faults() {
  if (!parts_.device_memory.on_device()) return;
  parts_.backend.source->on_fault(
      [this](std::uint64_t fault) { execute([this, fault] { on_alarm(fault); }); });
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
  std::atomic_thread_fence(std::memory_order_seq_cst);  // see `fail_latecomers`
  {
    const role held(parts_.completions);
    parts_.completions.poll(held);
    settlement_.note_begun(held);
    leave_behind(held);
    parts_.completions.detach(held);
    fail_everything(held, reason);
  }
  if (parts_.backend.source) parts_.backend.source->on_fault({});
  active_->abandon();
  active_.reset();
  publish(device_state::condemned);
  note_event({.what = device_event::kind::condemned, .why = reason});
}

// The threads of a condemned device may run on: they use the mailbox and the pools,
// which the reactor holds, and the tensors of their requests. None of this is ever freed, so that
// no other owner gets the memory that they write.
void supervisor::leave_behind(const role& held) {
  reactor& completions = parts_.completions;
  auto tensors = std::make_unique<std::vector<operand_list>>();
  for (const std::uint16_t slot : completions.in_flight(held))
    tensors->push_back(completions.at(slot).operands);
  [[maybe_unused]] const auto* for_good = tensors.release();
  completions.retain();
}

// No worker can complete anything any more.
void supervisor::fail_everything(const role& held, const error& why) {
  reactor& completions = parts_.completions;
  do {
    completions.walk(held);
    for (const std::uint16_t slot : completions.in_flight(held))
      completions.drop(held, slot, why);
    // A sender that passed the gate before it closed will publish soon.
  } while (completions.walked_ticket(held) < parts_.requests.next_ticket() ||
           completions.in_flight_count(held) > 0);
}

void supervisor::fail_latecomers() {
  const auto fail = [this] {
    if (!gone()) return;  // it was restarted since: the next worker has them
    fail_everything(role(parts_.completions), stop_reason());
  };
  // Run on the device thread, which finishes the device's end before its next command. Once that
  // thread has ended, there is no worker either.
  if (!execute(fail)) fail();
}

void supervisor::end_all() {
  active_.reset();
  succession_.end();
  settlement_.forget_worker();
  // A sender that passed the gate before it closed may be about to publish.
  fail_everything(role(parts_.completions), stop_reason());
  std::vector<unique_function<void()>> rest;
  std::vector<std::shared_ptr<generation_watcher>> watchers;  // destroyed without the lock
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    rest.swap(commands_);
    watchers.swap(watchers_);
  }
  for (auto& command : rest)
    command();
}

}  // namespace troupe
