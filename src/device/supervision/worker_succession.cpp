#include "device/supervision/worker_succession.hpp"

#include "core/actor/backoff.hpp"
#include "device/completion/reactor.hpp"
#include "device/mailbox/mailbox.hpp"
#include "device/supervision/loss/recovery.hpp"

#include <troupe/device/fork_server.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

using namespace std::chrono_literals;

// A GPU reports a fault later the more contexts precede the one that faulted, and a new context
// takes the lowest free place: a third one while a lost worker still has its own (ADR 9). So a
// standby is started once the lost worker is gone, or after this time.
constexpr auto longest_reaping = 1s;

}  // namespace

worker_succession::worker_succession(worker_plan plan, mailbox& requests, reactor& completions,
                                     supervisor_environment& environment)
    : config_(*plan.config),
      requests_(requests),
      completions_(completions),
      environment_(environment),
      plan_(std::move(plan)),
      losses_(config_.restarts.window),
      random_(std::random_device{}()) {}

std::optional<error> worker_succession::start(const incarnation* active, const incarnation* lost,
                                              const std::vector<frozen_range>& frozen) {
  next_start_ = clock::time_point::min();
  after_reaping_ = false;
  // A standby that shares the doorbells of the worker in service would be woken in its place.
  const auto shares_bells = [this](const incarnation* other) {
    return other != nullptr && (other->number() - last_number_) % wire::doorbell_sets == 0;
  };
  do {
    ++last_number_;
  } while (shares_bells(active) || shares_bells(lost));
  // After the first one, a worker that is ready soon is worth more than a warm one: it may be
  // needed early, and warms up until then.
  plan_.warm_first = !any_has_served_;
  plan_.any_has_served = any_has_served_;
  plan_.all_wait = active == nullptr;
  auto started = environment_.start_worker(plan_, last_number_, frozen);
  if (!started) return std::move(started).error();
  next_ = *std::move(started);
  next_started_at_ = environment_.now();
  return std::nullopt;
}

bool worker_succession::start_is_due(clock::time_point now) const noexcept {
  return !next_ && next_start_ != clock::time_point::min() && now >= next_start_;
}

std::optional<error> worker_succession::overdue(clock::time_point now) const {
  if (!next_ || next_->where() != incarnation::stage::starting ||
      now - starting_since() < config_.start_timeout) {
    return std::nullopt;
  }
  if (config_.forked_by) {
    std::string activity = next_->activity();
    if (activity.empty()) activity = config_.forked_by->activity();
    return error{
        .code = errc::device_unavailable,
        .message = fmt::format("no worker was ready after {} ms{}{}", config_.start_timeout / 1ms,
                               activity.empty() ? "" : " of ", activity)};
  }
  return error{.code = errc::device_unavailable,
               .message = fmt::format("{} was not ready after {} ms{}", next_->called(),
                                      config_.start_timeout / 1ms, next_->doubts())};
}

// A worker that reports what it is doing gets time for it.
worker_succession::clock::time_point worker_succession::starting_since() const noexcept {
  return std::max(next_started_at_, next_->last_heard());
}

bool worker_succession::note_failed(errc why, bool serving) {
  next_.reset();
  const clock::time_point now = environment_.now();
  if (serving) {
    // A standby is a convenience: without one the next fault takes a little longer.
    failed_standbys_.push_back(now);
    std::erase_if(failed_standbys_,
                  [&](clock::time_point then) { return now - then > config_.restarts.window; });
    const auto failures = static_cast<int>(failed_standbys_.size());
    if (failures <= config_.restarts.restarts && !is_permanent(why)) {
      next_start_ = now + backoff_after(failures);
    }
    return true;
  }
  const bool calm = has_answered_since_last_loss();
  if (is_permanent(why) || !admit_another(now, loss_history::cost::one, calm)) return false;
  next_start_ = activate_after_;
  return true;
}

bool worker_succession::can_serve() const noexcept {
  return next_ && next_->where() == incarnation::stage::ready &&
         next_->protects_acknowledged() == next_->protects_sent();
}

std::unique_ptr<incarnation> worker_succession::take_next() noexcept {
  any_has_served_ = true;
  serving_since_ = environment_.now();
  return std::move(next_);
}

void worker_succession::put_on_trial(const role&, std::span<const std::uint16_t> replay) {
  constexpr int several = 3;
  next_on_trial_.store(false, std::memory_order_relaxed);
  if (losses_.spent(environment_.now()) < several) return;
  const auto first = std::ranges::find_if(replay, [this](std::uint16_t slot) {
    return requests_.header(slot).held.load(std::memory_order_relaxed) == wire::hold::none &&
           !is_mapping(*completions_.at(slot).type);
  });
  if (first == replay.end()) {
    next_on_trial_.store(true, std::memory_order_relaxed);
  } else {
    requests_.header(*first).alone.store(1, std::memory_order_relaxed);
  }
}

void worker_succession::start_after_reaping(clock::time_point now) noexcept {
  after_reaping_ = true;
  next_start_ = now + longest_reaping;
}

void worker_succession::note_reaped(clock::time_point at) noexcept {
  if (std::exchange(after_reaping_, false)) next_start_ = at;
}

bool worker_succession::note_loss(clock::time_point at, bool explained) {
  using enum loss_history::cost;
  // An idle device has nothing to answer.
  const bool lasted = at - serving_since_ > config_.restarts.window;
  const bool calm = has_answered_since_last_loss() || lasted;
  if (!admit_another(at, explained ? none : one, calm)) return false;
  failed_standbys_.clear();
  // However long a failed standby was to be left alone.
  if (!next_) next_start_ = activate_after_;
  return true;
}

// False if there must be no other worker.
bool worker_succession::admit_another(clock::time_point at, loss_history::cost of, bool calm) {
  const auto earlier = losses_.note(at, of, budget(), calm);
  if (!earlier) return false;
  activate_after_ = *earlier == 0 ? at : at + backoff_after(*earlier);
  return true;
}

bool worker_succession::has_answered_since_last_loss() {
  const std::uint64_t answered = completions_.totals().answered.load(std::memory_order_relaxed);
  return std::exchange(answered_at_last_loss_, answered) != answered;
}

// If no worker has ever been ready, the cause will not go away.
std::int32_t worker_succession::budget() const {
  constexpr std::int32_t first_starts = 3;
  const std::int32_t all = config_.restarts.restarts;
  return any_has_served_ ? all : std::min(all, first_starts);
}

worker_succession::clock::duration worker_succession::backoff_after(int failures) {
  std::uniform_real_distribution<double> chance(-1, 1);
  return detail::wait_before(config_.backoff, failures, chance(random_));
}

worker_succession::clock::time_point worker_succession::next_turn(bool serving) const {
  clock::time_point until = clock::time_point::max();
  if (next_ && next_->where() == incarnation::stage::starting) {
    until = detail::deadline_after(starting_since(), config_.start_timeout);
  }
  if (!next_ && next_start_ != clock::time_point::min()) until = std::min(until, next_start_);
  return can_serve() && !serving ? std::min(until, activate_after_) : until;
}

void worker_succession::end() noexcept {
  next_.reset();
  next_start_ = clock::time_point::min();
}

void worker_succession::begin_anew(clock::time_point now) noexcept {
  losses_.clear();
  next_on_trial_.store(false, std::memory_order_relaxed);
  failed_standbys_.clear();
  activate_after_ = now;
}

}  // namespace troupe
