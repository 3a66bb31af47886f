// How workers come: a start, a standby, the hand-over of the mailbox, and how many may be lost.
#include "core/backoff.hpp"
#include "device/supervisor.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

using namespace std::chrono_literals;

// A GPU tells of a fault the later the more contexts come before the one that faulted, and a new
// one takes the lowest place that is free: a third one while a lost worker still has its own
// (docs/results/2026-11-23-h200-2.md). So a standby is started once that is gone, or after so long.
constexpr auto longest_burial = 1s;

}  // namespace

void supervisor::start_next() {
  next_start_ = clock::time_point::min();
  after_burial_ = false;
  // A standby that shares the doorbells of the worker in service would be woken in its place.
  const auto shares_bells = [this](const incarnation* other) {
    return other != nullptr && (other->number() - last_number_) % wire::doorbell_sets == 0;
  };
  do {
    ++last_number_;
  } while (shares_bells(active_.get()) || shares_bells(dying_ ? dying_->worker.get() : nullptr));
  // From the first one on, a worker that is there soon is worth more than a warm one: it may be
  // needed before it is, and warms up while it is not.
  plan_.warm_first = generation() == 0;
  auto started = parts_.around->start_worker(plan_, last_number_, frozen_);
  if (!started) return next_failed(std::move(started).error());
  next_ = *std::move(started);
  next_started_at_ = current_time();
}

void supervisor::next_failed(error why) {
  next_.reset();
  const clock::time_point now = current_time();
  if (active_) {
    // A standby is a convenience: without one the next fault takes a little longer.
    failed_standbys_.push_back(now);
    forget_old(failed_standbys_, now);
    const auto failures = static_cast<int>(failed_standbys_.size());
    if (failures <= parts_.config.restarts.restarts && !is_permanent(why.code)) {
      next_start_ = now + backoff_after(failures);
    }
    return;
  }
  if (is_permanent(why.code) || !note_restart(now)) return give_up(std::move(why));
  next_start_ = activate_after_;
}

// What is frozen is so in the worker before it runs anything.
bool supervisor::next_can_serve() const noexcept {
  return next_ && next_->where() == incarnation::stage::ready &&
         next_->protects_acknowledged() == next_->protects_sent();
}

void supervisor::activate_next() {
  reactor& completions = parts_.completions;
  completions.take_role();
  completions.catch_up();  // all that was sent so far is handed over, in order
  std::vector<std::uint16_t> replay;
  std::vector<std::uint64_t> entries;
  for (const std::uint16_t slot : completions.in_flight()) {
    const record& r = completions.at(slot);
    // One that is held is kept even when it has its answer: what depends on it has to wait.
    if (r.answered &&
        parts_.requests.header(slot).held.load(std::memory_order_relaxed) == wire::hold::none) {
      completions.drop(slot, {});
      continue;
    }
    replay.push_back(slot);
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
    missing_ = next_->missing();
    if (!first_time) {
      ++health_.restarts;
      health_.last_failover = now - lost_at_;
    }
  }
  active_ = std::move(next_);
  completions.attach(active_->segment(), active_->number(), replay);
  generation_.fetch_add(1, std::memory_order_release);
  pid_.store(active_->pid(), std::memory_order_release);
  parts_.requests.activate(active_->number(), entries, completions.walked_ticket(),
                           !dying_ || dying_->held.empty());
  completions.leave_role();

  last_progress_at_ = now;
  pinged_ = false;
  publish(device_state::ready);
  if (!parts_.config.standby || !active_->is_process()) return;
  if (!dying_) return start_next();
  after_burial_ = true;
  next_start_ = now + longest_burial;
}

bool supervisor::note_restart(clock::time_point now) {
  forget_old(restarts_, now);
  const auto earlier = static_cast<std::int32_t>(restarts_.size());
  if (earlier >= parts_.config.restarts.restarts) return false;
  restarts_.push_back(now);
  activate_after_ = earlier == 0 ? now : now + backoff_after(earlier);
  return true;
}

void supervisor::forget_old(std::deque<clock::time_point>& events, clock::time_point now) const {
  // Not in order: a hang counts from its deadline, which may lie before the last loss.
  std::erase_if(events,
                [&](clock::time_point then) { return now - then > parts_.config.restarts.window; });
}

supervisor::clock::duration supervisor::backoff_after(int failures) {
  std::uniform_real_distribution<double> chance(-1, 1);
  return detail::wait_before(parts_.config.backoff, failures, chance(random_));
}

}  // namespace troupe
