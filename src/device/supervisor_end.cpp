// How a device ends: given up, condemned, or let go.
#include "device/supervisor.hpp"

#include <fmt/format.h>

#include <utility>

namespace troupe {

void supervisor::give_up(error why) {
  if (state() == device_state::stopped) return;
  error reason = std::move(why);
  // A device that no worker could ever use was not stopped by faults: the worker's own reason
  // counts.
  const bool never_up = reason.code == errc::device_unavailable && generation() == 0;
  if (!is_permanent(reason.code) && !never_up && reason.code != errc::device_stopped) {
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
  if (dying_) {
    dying_->worker->end();
    dying_.reset();
  }
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

void supervisor::end_all() {
  active_.reset();
  next_.reset();
  dying_.reset();
  // A sender that passed the gate before it closed may still be about to publish.
  parts_.completions.take_role();
  fail_everything(stop_reason());
  parts_.completions.leave_role();
  std::deque<unique_function<void()>> rest;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    rest.swap(commands_);
  }
  for (auto& command : rest)
    command();
}

}  // namespace troupe
