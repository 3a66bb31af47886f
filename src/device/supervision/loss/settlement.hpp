#pragma once

#include "device/supervision/loss/draining_worker.hpp"
#include "device/supervision/loss/fault_attribution.hpp"
#include "device/supervision/loss/recovery.hpp"
#include "device/supervision/supervisor_environment.hpp"

#include <troupe/base/error.hpp>
#include <troupe/device/health.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class mailbox;
class reactor;
class role;
struct record;

/// Decides what happens to each request of a lost worker.
///
/// All of them go the same way. The requests that the worker was given are held back. Once its
/// marks are final, completed ones are answered, those to run again are released to the next
/// worker, and all others fail. The marks are final at once if the worker has ended or stands
/// still. Otherwise its queue may run on until it is reaped; meanwhile the next worker begins with
/// the other requests.
///
/// Used by the device thread, except `replayed`. Takes the reactor's role as needed.
class settlement {
 public:
  using clock = std::chrono::steady_clock;

  settlement(mailbox& requests, reactor& completions, fault_attribution& cause,
             supervisor_environment& environment) noexcept
      : requests_(requests), completions_(completions), cause_(cause), environment_(environment) {}

  /// The effects of a loss on the requests of the worker.
  struct consequences {
    std::string culprit{};  ///< the first request that was named for it, as errors show it
    int run_again = 0;      ///< requests that had begun
    int failed = 0;
    int tainted = 0;  ///< their outputs that are undefined from now on
    std::vector<quarantined_request> quarantined{};  ///< they are refused from now on
  };
  /// The outcome of a loss, for the device's budget, its health and its journal.
  struct outcome {
    /// A request or an outside cause is named for it.
    bool explained = false;
    /// An earlier fault of the device that none of its suspects has caused.
    std::optional<error> unexplained{};
    /// Times of earlier losses that turn out to cost no budget.
    std::vector<clock::time_point> refunds{};
    consequences of_requests{};
  };

  /// Takes over a worker that was killed, or has ended, and holds back its requests. Settles them
  /// at once if its marks are final; otherwise only fails a known culprit.
  /// Preconditions: a process; no other lost worker waits to be reaped.
  [[nodiscard]] outcome take_over(std::unique_ptr<incarnation>&& worker, const sign_of_loss& sign);
  /// Reaps the lost worker. \returns the cause of its loss, if only the exit shows it.
  /// Precondition: there is a lost worker.
  [[nodiscard]] std::optional<error> reap();
  /// Settles the held requests of the reaped worker, and forgets it.
  [[nodiscard]] outcome settle_reaped();

  /// The lost worker that is not reaped yet, or null.
  [[nodiscard]] const incarnation* worker() const noexcept {
    return draining_ ? draining_->worker.get() : nullptr;
  }
  /// True while requests wait for the lost worker's final marks.
  [[nodiscard]] bool holds_back() const noexcept { return draining_ && !draining_->held.empty(); }
  /// False while the cause of the last loss, or its effects, may still turn out.
  [[nodiscard]] bool is_settled() const noexcept {
    return !draining_ || (draining_->held.empty() && !draining_->sign.ask_its_end);
  }
  [[nodiscard]] clock::time_point reaped_at() const noexcept { return reaped_at_; }

  // For the end of the device.

  /// Ends the lost worker, if there is one, and settles nothing.
  void end_worker() noexcept;
  /// The workers have ended, or are not waited for, and no request runs again: their
  /// running requests stay as they are, and memory that outlives the device is marked so.
  void note_begun(const role& held);
  void forget_worker() noexcept { draining_.reset(); }

  /// How many requests have run again so far.
  [[nodiscard]] std::uint64_t replayed() const noexcept {
    return replayed_.load(std::memory_order_relaxed);
  }

 private:
  void hold(const role& held);
  [[nodiscard]] bool names(const record& r) const;
  void note_interruption(record& r) const noexcept;
  void fail_known_culprit(const role& held);
  void settle(const role& held, outcome& left);
  [[nodiscard]] std::optional<error> end_of(const role& held, verdict v, std::uint16_t slot,
                                            bool culprit_named);
  void answer(const role& held, std::uint16_t slot, std::optional<error> end);
  void suspect(std::uint16_t slot);
  void name_culprit(const role& held, std::uint16_t slot);
  void note_fault(const role& held, std::uint16_t slot);
  void forget_ended(const role& held);
  void release(const role& held);

  mailbox& requests_;
  reactor& completions_;
  fault_attribution& cause_;
  supervisor_environment& environment_;
  std::optional<draining_worker> draining_;
  std::vector<clock::time_point> refunds_;  // earlier losses whose culprit is named now
  consequences found_;                      // since the last outcome
  clock::time_point reaped_at_{};
  std::atomic<std::uint64_t> replayed_{0};  // a count: relaxed
};

}  // namespace troupe
