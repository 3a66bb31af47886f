// How workers come: a start, and the hand-over of the mailbox.
#include "device/supervision/supervisor.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

void supervisor::start_next() {
  auto failed = succession_.start(active_.get(), draining_ ? draining_->worker.get() : nullptr,
                                  memory_.frozen());
  if (failed) next_failed(*std::move(failed));
}

void supervisor::next_failed(error why) {
  if (!succession_.note_failed(why.code, active_ != nullptr)) give_up(std::move(why));
}

void supervisor::activate_next() {
  reactor& completions = parts_.completions;
  completions.take_role();
  completions.catch_up();  // all that was sent so far is handed over, in order
  completions.poll();      // but what is known to read the undefined is answered
  completions.drop_answered();
  const std::vector<std::uint16_t> replay = completions.in_flight();
  std::vector<std::uint64_t> entries;
  for (const std::uint16_t slot : replay) {
    const record& r = completions.at(slot);
    entries.push_back(wire::ring_entry{.ticket = r.ticket, .slot = slot, .lane = r.lane}.packed());
  }
  const bool first_time = generation_.load(std::memory_order_relaxed) == 0;
  const clock::time_point now = current_time();
  {
    // Before the generation, and what the worker answers, tell of it: nobody is to take the worker
    // in service for a standby, or to have an answer from one that nobody knows of.
    const std::lock_guard lock(mutex_);
    health_.standby_ready = false;
    health_.standby_pid.reset();
    missing_ = succession_.next()->missing();
    if (!first_time) {
      ++health_.restarts;
      health_.last_failover = now - lost_at_;
    }
  }
  active_ = succession_.take_next();
  completions.attach(active_->segment(), active_->number(), replay);
  watch_.begin(now);
  succession_.put_on_trial(replay);
  generation_.fetch_add(1, std::memory_order_release);
  pid_.store(active_->pid(), std::memory_order_release);
  parts_.requests.activate(active_->number(), entries, completions.walked_ticket(),
                           !draining_ || draining_->held.empty());
  completions.leave_role();

  publish(device_state::ready);
  if (!parts_.config.standby || !active_->is_process()) return;
  if (!draining_) return start_next();
  succession_.start_after_reaping(now);
}

}  // namespace troupe
