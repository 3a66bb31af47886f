#pragma once

#include "device/supervision/incarnation.hpp"
#include "device/supervision/loss/loss_history.hpp"
#include "device/supervision/supervisor_environment.hpp"

#include <troupe/base/error.hpp>

#include <algorithm>
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
class role;

/// Creates workers, and owns the next one (the standby). Decides when it is started, when it may
/// serve, and how many may be lost or fail before there is no other.
///
/// Used by the device thread, except the trial, which senders take.
class worker_succession {
 public:
  using clock = std::chrono::steady_clock;

  /// `plan`: the parameters of each worker; the objects that it points to outlive this.
  worker_succession(worker_plan plan, mailbox& requests, reactor& completions,
                    supervisor_environment& environment);

  /// The next worker, or null.
  [[nodiscard]] incarnation* next() const noexcept { return next_.get(); }

  /// Starts the next worker. `active` and `lost`, which may be null, are the existing workers.
  /// \returns the reason if that has failed
  [[nodiscard]] std::optional<error> start(const incarnation* active, const incarnation* lost,
                                           const std::vector<frozen_range>& frozen);
  [[nodiscard]] bool start_is_due(clock::time_point now) const noexcept;
  [[nodiscard]] bool is_start_planned() const noexcept {
    return next_start_ != clock::time_point::min();
  }
  /// Numbers of workers grow.
  [[nodiscard]] std::uint64_t last_number() const noexcept { return last_number_; }
  /// Ends the next worker: a fresh one is wanted.
  void discard_next() noexcept { next_.reset(); }
  /// The reason why it is of no use, if it has not become ready in time.
  [[nodiscard]] std::optional<error> overdue(clock::time_point now) const;
  /// The next worker, or its start, has failed. \returns false if there must be no other, although
  /// none is `serving`
  [[nodiscard]] bool note_failed(errc why, bool serving);
  /// True if it is ready and has applied all freezes, so that it can run requests.
  [[nodiscard]] bool can_serve() const noexcept;
  /// The same, and the backoff is over.
  [[nodiscard]] bool may_serve(clock::time_point now) const noexcept {
    return can_serve() && now >= activate_after_;
  }
  /// Hands it over: it serves from now on.
  [[nodiscard]] std::unique_ptr<incarnation> take_next() noexcept;
  /// After several losses without a culprit, one request tries the new worker out: if that worker
  /// is lost, too, the request was the cause. `replay`: the worker's first requests.
  void put_on_trial(const role&, std::span<const std::uint16_t> replay);
  /// Starts a standby once the lost worker is gone, or after a while.
  void start_after_reaping(clock::time_point now) noexcept;
  void note_reaped(clock::time_point at) noexcept;

  /// True if a loss without a culprit would be the last one.
  [[nodiscard]] bool is_spent(clock::time_point now) { return losses_.is_spent(now, budget()); }
  [[nodiscard]] loss_history::tally failures(clock::time_point now) { return losses_.counted(now); }
  /// How many losses within the window cost budget.
  [[nodiscard]] int spent(clock::time_point now) { return losses_.spent(now); }
  /// For how long the next worker is not started, if that is planned, or must not serve.
  [[nodiscard]] clock::duration time_to_start(clock::time_point now) const noexcept {
    return time_until(next_start_, now);
  }
  [[nodiscard]] clock::duration time_to_serve(clock::time_point now) const noexcept {
    return time_until(activate_after_, now);
  }
  /// The worker in service was lost. `explained`: it costs no budget. \returns false if there must
  /// be no other
  [[nodiscard]] bool note_loss(clock::time_point at, bool explained);
  /// That loss has turned out to be explained.
  void refund(clock::time_point at) noexcept { losses_.refund(at); }

  /// When there is next something to do if no event comes before; depends on whether a worker is
  /// `serving`.
  [[nodiscard]] clock::time_point next_turn(bool serving) const;
  /// There are no workers any more, until `begin_anew`.
  void end() noexcept;
  /// Starts over with the whole budget.
  void begin_anew(clock::time_point now) noexcept;

  /// True while the next request must run alone, as the first of a worker that came after several
  /// others were lost. Relaxed: any request will do.
  [[nodiscard]] bool next_on_trial() const noexcept {
    return next_on_trial_.load(std::memory_order_relaxed);
  }
  /// True for exactly one caller.
  [[nodiscard]] bool take_trial() noexcept {
    return next_on_trial_.exchange(false, std::memory_order_relaxed);
  }

 private:
  // The earliest time stands for no plan, and is too far away to be subtracted.
  [[nodiscard]] static clock::duration time_until(clock::time_point at,
                                                  clock::time_point now) noexcept {
    return at > now ? at - now : clock::duration::zero();
  }
  [[nodiscard]] clock::time_point starting_since() const noexcept;
  [[nodiscard]] bool admit_another(clock::time_point at, loss_history::cost of, bool calm);
  [[nodiscard]] bool has_answered_since_last_loss();
  [[nodiscard]] std::int32_t budget() const;
  [[nodiscard]] clock::duration backoff_after(int failures);

  const device_config& config_;
  mailbox& requests_;
  reactor& completions_;
  supervisor_environment& environment_;
  worker_plan plan_;

  std::unique_ptr<incarnation> next_;
  bool any_has_served_ = false;
  clock::time_point serving_since_{};  // for the current or the last worker
  std::uint64_t last_number_ = 0;
  clock::time_point next_started_at_{};
  clock::time_point next_start_ = clock::time_point::min();  // this value: none is planned
  bool after_reaping_ = false;                               // reaping a worker brings that forward
  clock::time_point activate_after_ = clock::time_point::min();
  std::deque<clock::time_point> failed_standbys_;  // within the window, since a worker was lost
  loss_history losses_;
  std::uint64_t answered_at_last_loss_ = 0;
  std::mt19937_64 random_;
  std::atomic<bool> next_on_trial_{false};
};

}  // namespace troupe
