#pragma once

#include "device/supervision/loss/draining_worker.hpp"
#include "device/supervision/loss/fault_attribution.hpp"
#include "device/supervision/loss/recovery.hpp"
#include "device/supervision/supervisor_environment.hpp"

#include <troupe/base/error.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace troupe {

class mailbox;
class reactor;
struct record;

/// What becomes of each request that a lost worker had.
///
/// There is one way for all of them: what the worker was given is held back, and once its marks are
/// final, it is settled by them: what had completed is answered, what is to run again is released
/// to the next worker, everything else fails. The marks are final at once where the worker has
/// ended or stands still. Otherwise its queue may go on, and they are final when it is reaped; the
/// next worker begins with the rest meanwhile.
///
/// Used by the device thread, but for `replayed`. Takes the reactor's role where it needs it.
class settlement {
 public:
  using clock = std::chrono::steady_clock;

  settlement(mailbox& requests, reactor& completions, fault_attribution& cause,
             supervisor_environment& around) noexcept
      : requests_(requests), completions_(completions), cause_(cause), around_(around) {}

  /// What comes out of a loss, for the device's budget and its health.
  struct outcome {
    /// A request is named for it, or somebody else.
    bool explained = false;
    /// An earlier fault of the device that none of its suspects has caused.
    std::optional<error> unexplained{};
    /// The losses of these times turn out to cost no budget.
    std::vector<clock::time_point> refunds{};
  };

  /// Takes over a worker that was killed, or has ended, and holds back what it was given. Settles
  /// that at once where its marks are final; otherwise fails a known culprit only.
  /// Preconditions: a process; no other lost worker is left to be reaped.
  [[nodiscard]] outcome take_over(std::unique_ptr<incarnation>&& worker, const sign_of_loss& sign);
  /// Reaps the lost worker. What it was lost to, where that shows only now. Precondition: there is
  /// one.
  [[nodiscard]] std::optional<error> reap();
  /// Settles what is still held back of the worker that was reaped, and forgets it.
  [[nodiscard]] outcome settle_reaped();

  /// The lost worker that is still to be reaped, or null.
  [[nodiscard]] const incarnation* worker() const noexcept {
    return draining_ ? draining_->worker.get() : nullptr;
  }
  /// True while requests wait for the lost worker's final marks.
  [[nodiscard]] bool holds_back() const noexcept { return draining_ && !draining_->held.empty(); }
  [[nodiscard]] clock::time_point reaped_at() const noexcept { return reaped_at_; }

  // The device ends.

  /// Ends the lost worker, if there is one, and settles nothing.
  void end_worker() noexcept;
  /// With the role. The workers have ended, or are not waited for, and nothing is run again: what
  /// they were running is left as it is, and says so in memory that outlives the device.
  void note_begun();
  void forget_worker() noexcept { draining_.reset(); }

  /// How many requests have been run again so far.
  [[nodiscard]] std::uint64_t replayed() const noexcept {
    return replayed_.load(std::memory_order_relaxed);
  }

 private:
  void hold();
  [[nodiscard]] bool names(const record& r) const;
  void fail_known_culprit();
  void settle(outcome& left);
  [[nodiscard]] std::optional<error> end_of(verdict v, std::uint16_t slot, bool culprit_named);
  void answer(std::uint16_t slot, std::optional<error> end);
  void note_fault(std::uint16_t slot);
  void forget_ended();
  void release();

  mailbox& requests_;
  reactor& completions_;
  fault_attribution& cause_;
  supervisor_environment& around_;
  std::optional<draining_worker> draining_;
  std::vector<clock::time_point> refunds_;  // earlier losses whose culprit is named now
  clock::time_point reaped_at_{};
  std::atomic<std::uint64_t> replayed_{0};  // a count: relaxed
};

}  // namespace troupe
