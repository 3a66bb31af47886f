// How workers come: a start, a standby, the hand-over of the mailbox, and how many may be lost.
#include "core/actor/backoff.hpp"
#include "device/supervision/supervisor.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

using namespace std::chrono_literals;

// A GPU tells of a fault the later the more contexts come before the one that faulted, and a new
// one takes the lowest place that is free: a third one while a lost worker still has its own
// (ADR 24). So a standby is started once that is gone, or after so long.
constexpr auto longest_reaping = 1s;

}  // namespace

void supervisor::start_next() {
  next_start_ = clock::time_point::min();
  after_reaping_ = false;
  // A standby that shares the doorbells of the worker in service would be woken in its place.
  const auto shares_bells = [this](const incarnation* other) {
    return other != nullptr && (other->number() - last_number_) % wire::doorbell_sets == 0;
  };
  do {
    ++last_number_;
  } while (shares_bells(active_.get()) ||
           shares_bells(draining_ ? draining_->worker.get() : nullptr));
  // From the first one on, a worker that is there soon is worth more than a warm one: it may be
  // needed before it is, and warms up while it is not.
  plan_.warm_first = generation() == 0;
  auto started = parts_.around->start_worker(plan_, last_number_, memory_.frozen());
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
    std::erase_if(failed_standbys_, [&](clock::time_point then) {
      return now - then > parts_.config.restarts.window;
    });
    const auto failures = static_cast<int>(failed_standbys_.size());
    if (failures <= parts_.config.restarts.restarts && !is_permanent(why.code)) {
      next_start_ = now + backoff_after(failures);
    }
    return;
  }
  if (is_permanent(why.code) || !note_loss(now, loss_history::cost::one)) {
    return give_up(std::move(why));
  }
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
  completions.poll();      // but what is known to read the undefined is answered
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
  watch_.begin(now);
  put_on_trial(replay);
  generation_.fetch_add(1, std::memory_order_release);
  pid_.store(active_->pid(), std::memory_order_release);
  parts_.requests.activate(active_->number(), entries, completions.walked_ticket(),
                           !draining_ || draining_->held.empty());
  completions.leave_role();

  publish(device_state::ready);
  if (!parts_.config.standby || !active_->is_process()) return;
  if (!draining_) return start_next();
  after_reaping_ = true;
  next_start_ = now + longest_reaping;
}

// False where there is to be no other worker.
bool supervisor::note_loss(clock::time_point at, loss_history::cost of) {
  const std::uint64_t answered =
      parts_.completions.totals().answered.load(std::memory_order_relaxed);
  const bool calm = std::exchange(answered_at_last_loss_, answered) != answered;
  const auto earlier = losses_.note(at, of, budget(), calm);
  if (!earlier) return false;
  activate_after_ = *earlier == 0 ? at : at + backoff_after(*earlier);
  return true;
}

// Where none has ever been ready, what keeps it from that is there to stay.
std::int32_t supervisor::budget() const {
  constexpr std::int32_t first_starts = 3;
  const std::int32_t all = parts_.config.restarts.restarts;
  return generation() == 0 ? std::min(all, first_starts) : all;
}

// With the role. After several losses that nobody is named for, one request tries the new worker
// out: if that loses it, too, it was the one.
void supervisor::put_on_trial(std::span<const std::uint16_t> replay) {
  constexpr int several = 3;
  next_on_trial_.store(false, std::memory_order_relaxed);
  if (losses_.spent(current_time()) < several) return;
  const auto first = std::ranges::find_if(replay, [this](std::uint16_t slot) {
    return parts_.requests.header(slot).held.load(std::memory_order_relaxed) == wire::hold::none &&
           !is_mapping(*parts_.completions.at(slot).type);
  });
  if (first == replay.end()) {
    next_on_trial_.store(true, std::memory_order_relaxed);
  } else {
    parts_.requests.header(*first).alone.store(1, std::memory_order_relaxed);
  }
}

supervisor::clock::duration supervisor::backoff_after(int failures) {
  std::uniform_real_distribution<double> chance(-1, 1);
  return detail::wait_before(parts_.config.backoff, failures, chance(random_));
}

}  // namespace troupe
