#pragma once

#include "device/completion/taint_watch.hpp"
#include "device/submission/mailbox.hpp"
#include "device/submission/record.hpp"
#include "device/supervision/quarantine_book.hpp"
#include "os/fork_count.hpp"
#include "os/unique_fd.hpp"
#include "wire/layout.hpp"

#include <troupe/core/completion_driver.hpp>
#include <troupe/core/future.hpp>
#include <troupe/core/future_state.hpp>
#include <troupe/device/request_tracer.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace troupe {

namespace detail {
class deferred_continuations;
}

/// Completes requests: follows them in the order sent, watches the lanes' marks, and answers. One
/// thread at a time has the **role** of doing so: the device thread, or any thread that waits for
/// one of the device's futures and then needs no other thread to wake it.
///
/// The role is `owner_`, taken with acquire and released with release; only its holder touches the
/// members below the line "with the role". Continuations run after the role has been released
/// (`deferred_continuations`), so they may wait for anything. The library's own completions run at
/// once, wait for nothing, and may send: the same thread may enter `poll` again. Therefore each
/// completion is taken off its list, and its slot is free, before its answer runs. Slots of
/// requests without waiters are given back together, at the end of a poll.
///
/// `waits` says how the worker wakes a sleeping thread (see `wire::wait_bits`): a waiting thread
/// with the role sleeps on the worker's bell; the device thread sleeps on its eventfd and wants
/// every completion (`prompt`: a thread without the role waits for one) or only the last of a burst
/// (`lazy`).
class reactor final : public completion_driver {
 public:
  reactor(const reactor&) = delete;
  reactor& operator=(const reactor&) = delete;

  /// Written with the role, read by any thread: relaxed.
  struct counts {
    std::atomic<std::uint64_t> answered{0};
    std::atomic<std::uint64_t> failed{0};
  };

  /// Reference-counted: the device and each future of this driver hold a reference, so a future may
  /// outlive its device.
  struct let_go {
    void operator()(reactor* r) const noexcept { r->release(); }
  };
  using handle = std::unique_ptr<reactor, let_go>;
  [[nodiscard]] static handle create(std::shared_ptr<mailbox> requests,
                                     std::shared_ptr<os::unique_fd> device_wakes,
                                     std::shared_ptr<memory_pool> device_memory,
                                     std::shared_ptr<memory_pool> host_memory,
                                     std::chrono::nanoseconds quarantine);
  void retain() noexcept override { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept override;

  void drive_until(const future_state_base& state,
                   std::chrono::steady_clock::time_point deadline) noexcept override;
  /// A continuation waits for a completion, without a thread that waits.
  void continuation_attached() noexcept override;

  [[nodiscard]] bool try_take_role() noexcept;
  /// Takes the role from its holder, which gives it up at its next step.
  void take_role() noexcept;
  /// Gives the role up. If other threads or continuations wait for completions, the next one wakes
  /// the device thread. Then runs the continuations of the answers, unless the thread defers them
  /// for another reason.
  void leave_role() noexcept;
  [[nodiscard]] bool has_role() const noexcept;
  /// True in a process forked from the one that made the device. Nothing here may touch the memory
  /// that both share.
  [[nodiscard]] bool is_copy() const noexcept { return made_in_ != os::fork_count(); }
  [[nodiscard]] static error copy_error();
  /// Registers a promise that no request answers; in a forked process it fails like those of
  /// requests.
  void track_promise(const std::shared_ptr<promise<void>>& answer);
  /// Answers completed requests, unless another thread does it now.
  void try_poll();
  /// Reads the entries of all requests sent before the call, with or without the role.
  void catch_up();
  /// Returns when the answers counted before the call have been given. An answer may be counted a
  /// moment before it is given, so that its receiver finds it counted.
  /// False if the thread that answers takes longer than until the deadline.
  [[nodiscard]] bool settle_answers(std::chrono::steady_clock::time_point deadline) noexcept;
  /// How long a thread that waits for the worker spins before it sleeps.
  [[nodiscard]] std::chrono::steady_clock::duration spins() const noexcept { return spins_; }

  [[nodiscard]] record& at(std::uint16_t slot) noexcept { return records_[slot]; }
  [[nodiscard]] const counts& totals() const noexcept { return counts_; }
  [[nodiscard]] taint_watch& taints() noexcept { return taints_; }
  [[nodiscard]] quarantine_book& quarantine() noexcept { return quarantine_; }

  // With the role:

  /// Answers completed requests. True if there were any.
  bool poll();
  /// Reads the entry of every request sent so far; `in_flight` is then complete up to
  /// `next_ticket()`.
  void walk();
  /// The requests not completed yet, in the order sent.
  [[nodiscard]] std::vector<std::uint16_t> in_flight() const;
  [[nodiscard]] std::uint64_t in_flight_count() const noexcept { return in_flight_count_; }
  [[nodiscard]] std::uint64_t walked_ticket() const noexcept { return cursor_; }
  /// The last request of a lane that can have begun with the current worker, or 0.
  [[nodiscard]] std::uint64_t started(std::uint8_t lane) const noexcept;
  /// True for the first request of its lane that the current worker was given and has not
  /// completed. No request behind it can have begun, except those that share its mark.
  [[nodiscard]] bool is_head(const record& r) const noexcept {
    return r.place == lanes_[r.lane].first + 1 && given(r.lane) >= r.place;
  }
  /// How many requests of a lane the current worker has been given, begun or not.
  [[nodiscard]] std::uint64_t given(std::uint8_t number) const noexcept {
    return segment_ == nullptr ? 0
                               : segment_->lanes[number].started.load(std::memory_order_acquire);
  }
  /// False if the current worker's mark of a lane is out of range. Then it is unknown which
  /// requests of the lane have run.
  [[nodiscard]] bool mark_can_be(std::uint8_t number) const noexcept;
  /// The ticket of the running request, if only one lane has one.
  [[nodiscard]] std::optional<std::uint64_t> only_suspect() const noexcept;
  /// The sum of all marks: changes whenever a request starts or completes.
  [[nodiscard]] std::uint64_t progress() const noexcept;

  /// For messages: the request that ended last with the current worker in each lane.
  [[nodiscard]] std::string last_ended() const;

  /// A request as errors show it.
  [[nodiscard]] std::string text_of(std::uint16_t slot);
  /// Marks the outputs of a request as undefined that `why` ends.
  void taint_outputs(std::uint16_t slot, error& why) {
    complete(slot, why);
    taints_.taint_outputs(slot, why);
  }

  /// Answers a request early and leaves its slot in flight; it must not be run any more.
  void answer_early(std::uint16_t slot, error why);
  /// The times of the request that is being answered; only its completion may call this.
  [[nodiscard]] request_times times_of_ended(
      std::chrono::steady_clock::time_point sent) const noexcept;
  /// Counts suspects of a loss that were answered early instead of run again.
  [[nodiscard]] std::uint64_t skipped_reruns() const noexcept { return skipped_reruns_; }
  /// Answers a request that an earlier worker has completed, from that worker's segment; the slot
  /// stays in flight, and the request must not be run any more.
  void answer_completed(std::uint16_t slot, const wire::worker_header* by, bool may_have_reply);
  /// Refuses requests that would read undefined content, among those in flight and not held. Call
  /// it after content has become undefined.
  void screen_in_flight();
  /// A request that was answered early is known not to have run, and must not be.
  void forget(std::uint16_t slot);
  /// Ends a request that no worker has: answers it, unless it was answered, and frees its slot.
  void drop(std::uint16_t slot, error why);
  /// The same for all requests in flight that were answered. Held ones stay, because their
  /// dependents must wait. Precondition: no worker is attached.
  void drop_answered();
  /// Begins with a fresh worker: the requests in flight, `replay` in the order sent, are the first
  /// of its lanes.
  void attach(wire::worker_header* segment, std::uint64_t worker,
              const std::vector<std::uint16_t>& replay);
  /// The worker is gone: its marks are read no more, and its violation is not blamed on the next
  /// one.
  void detach() noexcept {
    segment_ = nullptr;
    violation_.reset();
  }
  /// The protocol violation of the worker, if there was one.
  [[nodiscard]] std::optional<error> take_violation() noexcept {
    return std::exchange(violation_, std::nullopt);
  }
  /// True if a thread or continuation without the role waits for a completion. Acquire: their
  /// requests were sent before, so a walk after this finds them.
  [[nodiscard]] bool wanted_promptly() const noexcept {
    return prompt_.load(std::memory_order_acquire) || sleepers_.load(std::memory_order_acquire) > 0;
  }
  /// Announces that the device thread is about to sleep. False if there is something to do first.
  bool announce_sleep();

  /// Called with each failure of a request that was sent, before it is answered: fills in the
  /// request, the device and the generation.
  void on_failure(unique_function<void(std::uint16_t, error&)> complete) {
    complete_error_ = std::move(complete);
  }
  /// Called for each request that failed: whether its outputs are defined.
  void on_outcome(unique_function<bool(std::uint16_t, errc)> keeps) {
    keeps_outputs_ = std::move(keeps);
  }

 private:
  reactor(std::shared_ptr<mailbox> requests, std::shared_ptr<os::unique_fd> device_wakes,
          std::shared_ptr<memory_pool> device_memory, std::shared_ptr<memory_pool> host_memory,
          std::chrono::nanoseconds quarantine);
  ~reactor() override;

  struct lane {
    std::uint16_t* slots = nullptr;  // a ring of its requests in flight, by place
    std::uint64_t first = 0;         // place of the oldest, minus one: completed so far
    std::uint64_t count = 0;
    const request_type* last_type = nullptr;  // the type of the last that ended
    std::uint64_t last_ticket = 0;
  };

  [[nodiscard]] bool take_role_until(std::chrono::steady_clock::time_point deadline) noexcept;
  [[nodiscard]] bool make_owner(const detail::deferred_continuations& thread) noexcept;
  void place_in_lane(std::uint16_t slot);
  [[nodiscard]] std::uint16_t& slot_at(lane& of, std::uint64_t place) noexcept {
    return of.slots[place & lane_ring_mask_];
  }
  /// The place up to which a lane's requests have completed, and up to which they have replies.
  struct lane_end {
    std::uint64_t completed;
    std::uint64_t replied;
  };
  struct lane_ends {
    std::uint32_t lanes = 0;  // a bit for each lane with completed requests
    std::array<lane_end, wire::max_lanes> of;
  };
  void look_at_marks(lane_ends& ends);
  [[nodiscard]] bool is_word_left() const noexcept;
  void add_earlier(lane_ends& ends);
  bool take_completions();
  bool take_in_order(lane_ends& ends);
  bool take_first(std::size_t number, std::uint64_t replied);
  void settle_prompt();
  [[nodiscard]] bool is_doubtful(const record& r) const noexcept;
  void screen_sent(std::uint64_t first, std::uint64_t end);
  void screen(std::uint16_t slot);
  void finish(std::uint16_t slot, bool may_have_reply);
  enum class slot_is : bool { kept, freed };
  void end_as_left(const wire::worker_header* segment, std::uint16_t slot, bool may_have_reply,
                   slot_is what);
  struct word_left;
  [[nodiscard]] std::optional<error> read_word(const wire::worker_header* segment,
                                               std::uint16_t slot, bool may_have_reply,
                                               slot_is what, word_left& left);
  template <class Text>
  void note_violation(Text&& text);
  // Whether a failed request may have written.
  enum class begun : std::uint8_t { unknown, no, yes };
  void end(std::uint16_t slot, std::byte* reply, error* failure, slot_is what,
           begun had = begun::unknown);
  void leave_undefined(std::uint16_t slot, const error& why, begun had);
  [[nodiscard]] bool keeps_outputs(std::uint16_t slot, errc code);
  void complete(std::uint16_t slot, error& failure);
  void note_answered(record& r, bool failed);
  void note_stamps(std::uint16_t slot);
  void free_slot(std::uint16_t slot);
  void give_back_freed() noexcept;
  bool drive_with_role(const future_state_base& state,
                       std::chrono::steady_clock::time_point deadline);
  void set_waits(std::uint32_t bits) noexcept;
  void wake_device_thread() noexcept;

  void fail_in_copy() noexcept;

  const std::uint32_t made_in_ = os::fork_count();
  std::mutex owed_mutex_;
  std::vector<std::weak_ptr<promise<void>>> owed_;
  std::size_t owed_limit_ = 0;  // clean up expired ones at this size
  // Acquire-release when counting down: the thread that deletes sees what the others did.
  std::atomic<std::uint64_t> references_{1};
  const std::shared_ptr<mailbox> mailbox_;
  const std::shared_ptr<os::unique_fd> device_wakes_;
  mailbox& requests_;
  const std::chrono::steady_clock::duration
      spins_;  // how long a waiting thread spins before it sleeps
  const bool traced_;
  const bool on_device_;  // its memory is an accelerator's
  std::unique_ptr<record[]> records_;
  taint_watch taints_;
  quarantine_book quarantine_;
  // The role. Its holder gives it up and then checks for waiters; a waiter announces itself in one
  // of the next three and then checks for a holder. With seq_cst or a fence between on both sides,
  // at least one of the two sees the other.
  std::atomic<const detail::deferred_continuations*> owner_{nullptr};
  std::atomic<std::uint32_t> wanted_{0};    // threads in `take_role`
  std::atomic<std::uint32_t> sleepers_{0};  // waiters that sleep without the role
  std::atomic<bool> prompt_{false};         // continuations wait; set until nothing is in flight
  counts counts_;

  // With the role:
  wire::worker_header* segment_ = nullptr;
  std::uint64_t worker_ = 0;
  std::uint64_t cursor_ = 0;  // next ticket to walk
  std::uint64_t in_flight_count_ = 0;
  wire::request_stamps ended_;  // stamps of the request that is being answered, if traced
  std::chrono::steady_clock::time_point ended_seen_;
  std::uint64_t skipped_reruns_ = 0;
  std::uint32_t busy_lanes_ = 0;
  std::uint32_t epoch_ = 0;
  const std::uint64_t lane_ring_mask_;
  const std::unique_ptr<std::uint16_t[]> lane_slots_;  // the rings of all lanes
  std::array<lane, wire::max_lanes> lanes_;
  std::unique_ptr<std::uint16_t[]> freed_;  // slots not given back yet
  std::size_t freed_count_ = 0;
  bool deferred_ = false;  // a completion waits for another one
  std::optional<error> violation_;
  unique_function<void(std::uint16_t, error&)> complete_error_;
  unique_function<bool(std::uint16_t, errc)> keeps_outputs_;
};

}  // namespace troupe
