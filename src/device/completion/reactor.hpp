#pragma once

#include "device/completion/answers.hpp"
#include "device/completion/forked_copy.hpp"
#include "device/completion/lane_walk.hpp"
#include "device/completion/protocol_violation.hpp"
#include "device/completion/quarantine_book.hpp"
#include "device/completion/role.hpp"
#include "device/completion/taint_watch.hpp"
#include "device/mailbox/mailbox.hpp"
#include "device/mailbox/record.hpp"
#include "os/unique_fd.hpp"
#include "wire/layout.hpp"

#include <troupe/core/completion_driver.hpp>
#include <troupe/core/future.hpp>
#include <troupe/core/future_state.hpp>
#include <troupe/device/request_tracer.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

namespace detail {
class deferred_continuations;
}

/// Completes requests: follows them in the order sent and watches the lanes' marks (`lane_walk`),
/// and answers (`answers`). One thread at a time has the **role** of doing so: the device thread,
/// or any thread that waits for one of the device's futures and then needs no other thread to wake
/// it.
///
/// The role is `owner_`, taken with acquire and released with release; a `role` is the proof of it.
/// Continuations run after the role has been released (`deferred_continuations`), so they may wait
/// for anything. The library's own completions run at once, wait for nothing, and may send: the
/// same thread may enter `poll` again. Therefore each completion is taken off its list, and its
/// slot is free, before its answer runs.
///
/// `waits` says how the worker wakes a sleeping thread (see `wire::wait_bits`): a waiting thread
/// with the role sleeps on the worker's bell; the device thread sleeps on its eventfd and wants
/// every completion (`prompt`: a thread without the role waits for one) or only the last of a burst
/// (`lazy`).
class reactor final : public completion_driver {
 public:
  reactor(const reactor&) = delete;
  reactor& operator=(const reactor&) = delete;

  /// The device and each of its futures hold a reference, so a future may outlive its device.
  struct let_go {
    void operator()(reactor* r) const noexcept { r->release(); }
  };
  using handle = std::unique_ptr<reactor, let_go>;
  [[nodiscard]] static handle create(std::shared_ptr<mailbox> requests,
                                     std::shared_ptr<os::unique_fd> device_wakes,
                                     const std::shared_ptr<memory_pool>& device_memory,
                                     std::shared_ptr<memory_pool> host_memory,
                                     std::chrono::nanoseconds quarantine);
  void retain() noexcept override { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept override;

  void drive_until(const future_state_base& state,
                   std::chrono::steady_clock::time_point deadline) noexcept override;
  /// A continuation waits for a completion, without a thread that waits.
  void continuation_attached() noexcept override;

  [[nodiscard]] bool has_role() const noexcept;
  /// True in a process forked from the one that made the device. Nothing here may touch the memory
  /// that both share.
  [[nodiscard]] bool is_copy() const noexcept { return copy_.is_here(); }
  [[nodiscard]] static error copy_error() { return forked_copy::why(); }
  /// In a forked process, this promise, which no request answers, fails like those of requests.
  void track_promise(const std::shared_ptr<promise<void>>& answer) { copy_.track_promise(answer); }
  /// Answers completed requests, unless another thread does it now.
  void try_poll();
  /// Waits for the answers counted so far: one is counted a moment before it is given, so that its
  /// receiver finds it counted. False once the deadline has passed.
  [[nodiscard]] bool settle_answers(std::chrono::steady_clock::time_point deadline) noexcept;
  /// How long a thread that waits for the worker spins before it sleeps.
  [[nodiscard]] std::chrono::steady_clock::duration spins() const noexcept { return spins_; }

  /// The record of a slot: for the sender that fills it, or with the role.
  [[nodiscard]] record& at(std::uint16_t slot) noexcept { return records_[slot]; }
  [[nodiscard]] const answers::counts& totals() const noexcept { return answers_.totals(); }
  [[nodiscard]] outcome_counts& outcomes() noexcept { return answers_.outcomes(); }
  [[nodiscard]] taint_watch& taints() noexcept { return taints_; }
  [[nodiscard]] quarantine_book& quarantine() noexcept { return quarantine_; }

  /// Answers completed requests. True if there were any.
  bool poll(const role& held);
  /// Reads the entry of every request sent so far: `in_flight` is complete up to `walked_ticket`.
  void walk(const role& held);
  /// Reads the entries of all requests sent before the call.
  void catch_up(const role& held);
  /// The requests not completed yet, in the order sent.
  [[nodiscard]] std::vector<std::uint16_t> in_flight(const role&) const {
    return walk_.in_flight();
  }
  [[nodiscard]] std::uint64_t in_flight_count(const role&) const noexcept {
    return walk_.in_flight_count();
  }
  [[nodiscard]] std::vector<lane_telemetry> busy_lanes(const role&) const {
    return walk_.busy_lanes();
  }
  [[nodiscard]] std::uint64_t walked_ticket(const role&) const noexcept {
    return walk_.next_ticket();
  }
  /// The last request of a lane that can have begun with the current worker, or 0.
  [[nodiscard]] std::uint64_t started(const role&, std::uint8_t lane) const noexcept {
    return walk_.started(lane);
  }
  /// True for the first request of its lane that the current worker was given and has not
  /// completed. No request behind it can have begun, except those that share its mark.
  [[nodiscard]] bool is_head(const role&, const record& r) const noexcept {
    return walk_.is_head(r);
  }
  /// How many requests of a lane the current worker has been given, begun or not.
  [[nodiscard]] std::uint64_t given(const role&, std::uint8_t lane) const noexcept {
    return walk_.given(lane);
  }
  /// False if the worker's mark of a lane is out of range, so that it is unknown what has run.
  [[nodiscard]] bool mark_can_be(const role&, std::uint8_t lane) const noexcept {
    return walk_.mark_can_be(lane);
  }
  /// True if all that has begun are parts of requests for several devices.
  [[nodiscard]] bool only_a_part_has_begun(const role&) const noexcept {
    return walk_.only_a_part_has_begun();
  }
  /// The ticket of the running request, if only one lane has one.
  [[nodiscard]] std::optional<std::uint64_t> only_suspect(const role&) const noexcept {
    return walk_.only_suspect();
  }
  /// The sum of all marks: changes whenever a request starts or completes.
  [[nodiscard]] std::uint64_t progress(const role&) const noexcept { return walk_.progress(); }
  /// For messages: the request that ended last with the current worker in each lane.
  [[nodiscard]] std::string last_ended(const role&) const { return walk_.last_ended(); }
  /// For the settlement of a loss.
  [[nodiscard]] answers& ends(const role&) noexcept { return answers_; }

  /// Answers a request early and leaves its slot in flight; it must not be run any more.
  void answer_early(const role&, std::uint16_t slot, error why) {
    answers_.answer_early(slot, std::move(why));
  }
  /// Counts suspects of a loss that were answered early instead of run again.
  [[nodiscard]] std::uint64_t skipped_reruns(const role&) const noexcept {
    return answers_.skipped_reruns();
  }
  /// Answers early from the segment of an earlier worker, which has completed the request.
  void answer_completed(const role&, std::uint16_t slot, const wire::worker_header* by,
                        bool may_have_reply) {
    answers_.answer_completed(slot, by, may_have_reply);
  }
  /// Refuses the requests in flight and not held that would read what has become undefined.
  void screen_in_flight(const role& held);
  /// Ends a request that no worker has: answers it, unless it was answered, and frees its slot.
  void drop(const role&, std::uint16_t slot, error why) { answers_.drop(slot, std::move(why)); }
  /// The same for all requests in flight that were answered. Held ones stay, because their
  /// dependents must wait. Precondition: no worker is attached.
  void drop_answered(const role& held);
  /// Begins with a fresh worker: the requests in flight, `replay` in the order sent, are the first
  /// of its lanes.
  void attach(const role&, wire::worker_header* segment, std::uint64_t worker,
              const std::vector<std::uint16_t>& replay) {
    walk_.attach(segment, worker, replay);
  }
  /// The worker is gone: its marks are read no more, and its violation is not blamed on the next
  /// one.
  void detach(const role& held) noexcept {
    walk_.detach();
    (void)take_violation(held);
  }
  /// The protocol violation of the worker, if there was one.
  [[nodiscard]] std::optional<error> take_violation(const role&) noexcept {
    return violation_.take();
  }
  /// Announces that the device thread is about to sleep. False if there is something to do first.
  bool announce_sleep(const role& held);

  /// True if a thread or continuation without the role waits for a completion. Acquire: a walk
  /// after this finds their requests.
  [[nodiscard]] bool wanted_promptly() const noexcept {
    return prompt_.load(std::memory_order_acquire) || sleepers_.load(std::memory_order_acquire) > 0;
  }
  /// The times of the request that is being answered; only its completion may call this.
  [[nodiscard]] request_times times_of_ended(
      std::chrono::steady_clock::time_point sent) const noexcept {
    return answers_.times().of_request(sent);
  }

  /// Called with the role for each failure of a request that was sent, before it is answered.
  void on_failure(answers::complete_error complete) { answers_.on_failure(std::move(complete)); }
  /// Called with the role for each request that failed.
  void on_outcome(answers::keeps_outputs keeps) { answers_.on_outcome(std::move(keeps)); }

 private:
  friend class role;

  reactor(std::shared_ptr<mailbox> requests, std::shared_ptr<os::unique_fd> device_wakes,
          const std::shared_ptr<memory_pool>& device_memory,
          std::shared_ptr<memory_pool> host_memory, std::chrono::nanoseconds quarantine);
  ~reactor() override;

  // Who has the role, and how its holder waits: role.cpp.
  [[nodiscard]] bool try_take_role() noexcept;
  [[nodiscard]] bool take_role_until(std::chrono::steady_clock::time_point deadline) noexcept;
  [[nodiscard]] bool make_owner(const detail::deferred_continuations& thread) noexcept;
  void leave_role(const role& held) noexcept;
  bool drive(const role& held, const future_state_base& state,
             std::chrono::steady_clock::time_point deadline);
  void set_waits(std::uint32_t bits) noexcept;

  bool take_completions(const role& held);
  bool take_in_order(const role& held, lane_walk::lane_ends& ends);
  bool take_first(std::size_t number, std::uint64_t replied);
  void settle_prompt(const role& held);
  void screen_doubtful(const role& held);
  void screen(const role& held, std::uint16_t slot);

  // Acquire-release when counting down: the thread that deletes sees what the others did.
  std::atomic<std::uint64_t> references_{1};
  const std::shared_ptr<mailbox> mailbox_;
  const device_bell device_;
  mailbox& requests_;
  const std::chrono::steady_clock::duration spins_;
  const std::unique_ptr<record[]> records_;
  forked_copy copy_;
  taint_watch taints_;
  quarantine_book quarantine_;
  // The role. Its holder gives it up and then checks for waiters; a waiter announces itself in one
  // of the next three and then checks for a holder. With seq_cst or a fence between on both sides,
  // at least one of the two sees the other.
  std::atomic<const detail::deferred_continuations*> owner_{nullptr};
  std::atomic<std::uint32_t> wanted_{0};    // threads that take the role
  std::atomic<std::uint32_t> sleepers_{0};  // waiters that sleep without the role
  std::atomic<bool> prompt_{false};         // continuations wait; set until nothing is in flight

  // With the role:
  protocol_violation violation_;
  lane_walk walk_;
  answers answers_;
  std::uint32_t epoch_ = 0;
  bool deferred_ = false;  // a completion waits for another one
};

}  // namespace troupe
