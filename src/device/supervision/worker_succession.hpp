#pragma once

#include "device/supervision/incarnation.hpp"
#include "device/supervision/loss/loss_history.hpp"
#include "device/supervision/supervisor_environment.hpp"

#include <troupe/base/error.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

namespace troupe {

class mailbox;
class reactor;

/// How workers come: owns the one that is to be next, a standby while another one serves, and
/// decides when it is started, when it may serve, and how many may be lost or fail before there is
/// to be no other.
///
/// Used by the device thread, but for the trial, which senders take.
class worker_succession {
 public:
  using clock = std::chrono::steady_clock;

  /// `plan`: what each worker is started with; what it points to outlives this.
  worker_succession(worker_plan plan, mailbox& requests, reactor& completions,
                    supervisor_environment& around);

  /// The one that is to be next, or null.
  [[nodiscard]] incarnation* next() const noexcept { return next_.get(); }

  /// Starts it. `active` and `lost`, which may be null, are the workers that there are already.
  /// \returns why that has failed, if it has
  [[nodiscard]] std::optional<error> start(const incarnation* active, const incarnation* lost,
                                           const std::vector<frozen_range>& frozen);
  [[nodiscard]] bool start_is_due(clock::time_point now) const noexcept;
  /// Why it is of no use where it has not become ready in time.
  [[nodiscard]] std::optional<error> overdue(clock::time_point now) const;
  /// It has failed, or its start has. \returns false where there is to be no other, although none
  /// is `serving`
  [[nodiscard]] bool note_failed(errc why, bool serving);
  /// True where it is ready, and what is frozen is so in it before it runs anything.
  [[nodiscard]] bool can_serve() const noexcept;
  /// The same, and the backoff is over.
  [[nodiscard]] bool may_serve(clock::time_point now) const noexcept {
    return can_serve() && now >= activate_after_;
  }
  /// Gives it away: it serves from now on.
  [[nodiscard]] std::unique_ptr<incarnation> take_next() noexcept;
  /// After several losses that nobody is named for, one request tries the new worker out: if that
  /// loses it, too, it was the one. `replay`: what the worker begins with. With the role.
  void put_on_trial(std::span<const std::uint16_t> replay);
  /// A standby is to be started once the lost worker is gone, or after a while.
  void start_after_reaping(clock::time_point now) noexcept;
  void note_reaped(clock::time_point at) noexcept;

  /// True where a loss that nobody is named for would be the last one.
  [[nodiscard]] bool is_spent(clock::time_point now) { return losses_.is_spent(now, budget()); }
  [[nodiscard]] loss_history::tally failures(clock::time_point now) { return losses_.counted(now); }
  /// The worker in service was lost. `explained`: it costs no budget. \returns false where there is
  /// to be no other
  [[nodiscard]] bool note_loss(clock::time_point at, bool explained);
  /// That loss has turned out to be explained.
  void refund(clock::time_point at) noexcept { losses_.refund(at); }

  /// When there is something to do, `serving` or not, although nothing happens until then.
  [[nodiscard]] clock::time_point next_turn(bool serving) const;
  /// There is to be no worker any more, until `begin_anew`.
  void end() noexcept;
  /// With the whole budget.
  void begin_anew(clock::time_point now) noexcept;

  /// True while the next request is to run alone, as the first of a worker that came after several
  /// others were lost. Relaxed: which one it becomes does not matter.
  [[nodiscard]] bool next_on_trial() const noexcept {
    return next_on_trial_.load(std::memory_order_relaxed);
  }
  /// True for one of those who ask.
  [[nodiscard]] bool take_trial() noexcept {
    return next_on_trial_.exchange(false, std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] clock::time_point starting_since() const noexcept;
  [[nodiscard]] bool admit_another(clock::time_point at, loss_history::cost of, bool calm);
  [[nodiscard]] bool has_answered_since_last_loss();
  [[nodiscard]] std::int32_t budget() const;
  [[nodiscard]] clock::duration backoff_after(int failures);

  const device_config& config_;
  mailbox& requests_;
  reactor& completions_;
  supervisor_environment& around_;
  worker_plan plan_;

  std::unique_ptr<incarnation> next_;
  bool any_has_served_ = false;
  clock::time_point serving_since_{};  // the last one that does or did
  std::uint64_t last_number_ = 0;
  clock::time_point next_started_at_{};
  clock::time_point next_start_ = clock::time_point::min();  // this: none is planned
  bool after_reaping_ = false;                               // a reaping brings that forward
  clock::time_point activate_after_ = clock::time_point::min();
  std::deque<clock::time_point> failed_standbys_;  // within the window, since a worker was lost
  loss_history losses_;
  std::uint64_t answered_at_last_loss_ = 0;
  std::mt19937_64 random_;
  std::atomic<bool> next_on_trial_{false};
};

}  // namespace troupe
