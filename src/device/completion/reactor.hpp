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

/// Brings completions in: follows the requests in the order sent, watches the lanes' marks, and
/// answers. One thread at a time has the **role** of doing so: the device thread, or any thread
/// that waits for one of the device's futures, which then needs no other thread to hear of it.
///
/// The role is `owner_`, taken with acquire and given up with release; everything below the line
/// "with the role" is touched only by its holder. Whose continuations an answer sets going come
/// when the role is given up (`deferred_continuations`), so they may wait for anything. What the
/// library itself does at an answer runs at once, waits for nothing, and may send: `poll` may be
/// entered again by the same thread, and is written so that each completion is taken off its list,
/// and its slot is free, before its answer runs. Slots of requests that nobody waits for are given
/// back together, at the end of a poll.
///
/// Who hears of a completion while nobody spins is written in `waits` (see `wire::wait_bits`): a
/// waiting thread that holds the role sleeps on the worker's bell; the device thread sleeps on its
/// eventfd, and wants every completion (`prompt`: somebody who does not drive waits for one) or
/// only the last of a burst (`lazy`).
class reactor final : public completion_driver {
 public:
  reactor(const reactor&) = delete;
  reactor& operator=(const reactor&) = delete;

  /// Written with the role, read by anybody: relaxed.
  struct counts {
    std::atomic<std::uint64_t> answered{0};
    std::atomic<std::uint64_t> failed{0};
  };

  /// Counted: the device holds one reference and each future that names this driver another, so
  /// that a future may outlive its device.
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
  /// Somebody wants to hear of a completion without waiting for it.
  void continuation_attached() noexcept override;

  [[nodiscard]] bool try_take_role() noexcept;
  /// Takes the role from whoever drives: it gives up at its next step.
  void take_role() noexcept;
  /// Gives the role up; when others wait or continuations hang on completions, the device thread is
  /// to be woken by the next one. Then runs the continuations of what was answered, unless the
  /// thread puts them off for another reason.
  void leave_role() noexcept;
  [[nodiscard]] bool has_role() const noexcept;
  /// True in a process that was forked from the one whose device this is: nothing here may touch
  /// what the two have in common.
  [[nodiscard]] bool is_copy() const noexcept { return made_in_ != os::fork_count(); }
  [[nodiscard]] static error copy_error();
  /// An answer that no request of this device brings: in a forked process it fails like theirs.
  void track_promise(const std::shared_ptr<promise<void>>& answer);
  /// Answers what has completed, unless another thread is about it.
  void try_poll();
  /// Takes up all that was sent before the call, with the role or without.
  void catch_up();
  /// Returns when the answers that were counted before the call have been given. One may be counted
  /// a moment earlier, so that who has it finds it counted.
  /// False where whoever is about it takes longer than until the deadline.
  [[nodiscard]] bool settle_answers(std::chrono::steady_clock::time_point deadline) noexcept;
  /// How long a thread that waits for the worker spins before it sleeps.
  [[nodiscard]] std::chrono::steady_clock::duration spins() const noexcept { return spins_; }

  [[nodiscard]] record& at(std::uint16_t slot) noexcept { return records_[slot]; }
  [[nodiscard]] const counts& totals() const noexcept { return counts_; }
  [[nodiscard]] taint_watch& taints() noexcept { return taints_; }
  [[nodiscard]] quarantine_book& quarantine() noexcept { return quarantine_; }

  // With the role:

  /// Answers what has completed. True if there was anything.
  bool poll();
  /// Takes up every request sent so far; `in_flight` is then complete up to `next_ticket()`.
  void walk();
  /// The requests not completed yet, in the order sent.
  [[nodiscard]] std::vector<std::uint16_t> in_flight() const;
  [[nodiscard]] std::uint64_t in_flight_count() const noexcept { return in_flight_count_; }
  [[nodiscard]] std::uint64_t walked_ticket() const noexcept { return cursor_; }
  /// The last request of a lane that can have begun with the current worker, or 0.
  [[nodiscard]] std::uint64_t started(std::uint8_t lane) const noexcept;
  /// True for the first request of its lane that the current worker has been given and has not
  /// completed. Nothing behind it can have begun, except what shares its mark.
  [[nodiscard]] bool is_head(const record& r) const noexcept {
    return r.place == lanes_[r.lane].first + 1 && given(r.lane) >= r.place;
  }
  /// How many requests of a lane the current worker has been given, begun or not.
  [[nodiscard]] std::uint64_t given(std::uint8_t number) const noexcept {
    return segment_ == nullptr ? 0
                               : segment_->lanes[number].started.load(std::memory_order_acquire);
  }
  /// False when the current worker's mark of a lane cannot be. Then nobody knows which of the
  /// requests that the lane was given have run.
  [[nodiscard]] bool mark_can_be(std::uint8_t number) const noexcept;
  /// The ticket of the request that runs, when that is one of one lane only.
  [[nodiscard]] std::optional<std::uint64_t> only_suspect() const noexcept;
  /// All marks added up: changes whenever a request starts or completes.
  [[nodiscard]] std::uint64_t progress() const noexcept;

  /// The request that ended last with the current worker in each lane, for a message.
  [[nodiscard]] std::string last_ended() const;

  /// A request as errors show it.
  [[nodiscard]] std::string text_of(std::uint16_t slot);

  /// Answers a request early and leaves its slot in flight; it is not to be run any more.
  void answer_early(std::uint16_t slot, error why);
  /// How many suspects of a loss have been answered so, and tell nothing of themselves.
  /// Where the time of the request went that is being answered, by its completion alone.
  [[nodiscard]] request_times times_of_ended(
      std::chrono::steady_clock::time_point sent) const noexcept;
  [[nodiscard]] std::uint64_t skipped_reruns() const noexcept { return skipped_reruns_; }
  /// Answers a request that an earlier worker has completed, from what it left; the slot stays in
  /// flight and is not to be run any more.
  void answer_completed(std::uint16_t slot, const wire::worker_header* by, bool may_have_reply);
  /// Refuses what would read the undefined, of all that is in flight and not held: after something
  /// has become undefined.
  void screen_in_flight();
  /// Ends a request that no worker has any more: answers it, unless it was, and frees its slot.
  void drop(std::uint16_t slot, error why);
  /// The same for all that are in flight and have their answer. One that is held is kept: what
  /// depends on it has to wait. Precondition: no worker is attached.
  void drop_answered();
  /// Begins with a fresh worker: the requests in flight, which are `replay` in the order sent, are
  /// the first of its lanes.
  void attach(wire::worker_header* segment, std::uint64_t worker,
              const std::vector<std::uint16_t>& replay);
  /// The worker is gone: what it wrote is not looked at any more, and is not held against the next.
  void detach() noexcept {
    segment_ = nullptr;
    violation_.reset();
  }
  /// What a worker wrote that cannot be, if it did.
  [[nodiscard]] std::optional<error> take_violation() noexcept {
    return std::exchange(violation_, std::nullopt);
  }
  /// True when somebody who does not drive waits for a completion. Acquire: what they wait for was
  /// sent before, so a walk after this finds it.
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
  /// Asked of each request that had begun and has failed: whether what it writes is defined.
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
    const request_type* last_type = nullptr;  // of the last that ended
    std::uint64_t last_ticket = 0;
  };

  [[nodiscard]] bool take_role_until(std::chrono::steady_clock::time_point deadline) noexcept;
  [[nodiscard]] bool make_owner(const detail::deferred_continuations& thread) noexcept;
  void place_in_lane(std::uint16_t slot);
  [[nodiscard]] std::uint16_t& slot_at(lane& of, std::uint64_t place) noexcept {
    return of.slots[place & lane_ring_mask_];
  }
  /// Up to which place a lane's requests have ended, and left word.
  struct lane_end {
    std::uint64_t completed;
    std::uint64_t replied;
  };
  struct lane_ends {
    std::uint32_t lanes = 0;  // a bit for each that something has ended in
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
  enum class begun : bool { no, yes };  // of a request that fails: it may have written
  void end(std::uint16_t slot, std::byte* reply, error* failure, slot_is what,
           begun had = begun::no);
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
  std::size_t owed_room_ = 0;  // before those that were given are looked for
  // Acquire-release on the way down: whoever deletes sees what the others did.
  std::atomic<std::uint64_t> references_{1};
  const std::shared_ptr<mailbox> mailbox_;
  const std::shared_ptr<os::unique_fd> device_wakes_;
  mailbox& requests_;
  const std::chrono::steady_clock::duration spins_;  // of a thread that waits, before it sleeps
  const bool traced_;
  const bool on_device_;  // its memory is an accelerator's
  std::unique_ptr<record[]> records_;
  taint_watch taints_;
  quarantine_book quarantine_;
  // The role. Who has it gives it up and then looks who waits; who waits says so in one of the next
  // three and then looks whether somebody has it: seq_cst, or a fence between, on both sides, so
  // one of the two sees the other.
  std::atomic<const detail::deferred_continuations*> owner_{nullptr};
  std::atomic<std::uint32_t> wanted_{0};    // threads in `take_role`
  std::atomic<std::uint32_t> sleepers_{0};  // waiters that sleep without the role
  std::atomic<bool> prompt_{false};         // continuations wait; until nothing is in flight
  counts counts_;

  // With the role:
  wire::worker_header* segment_ = nullptr;
  std::uint64_t worker_ = 0;
  std::uint64_t cursor_ = 0;  // next ticket to walk
  std::uint64_t in_flight_count_ = 0;
  wire::request_stamps ended_;  // of the request that is being answered, where requests are traced
  std::chrono::steady_clock::time_point ended_seen_;
  std::uint64_t skipped_reruns_ = 0;
  std::uint32_t busy_lanes_ = 0;
  std::uint32_t epoch_ = 0;
  const std::uint64_t lane_ring_mask_;
  const std::unique_ptr<std::uint16_t[]> lane_slots_;  // of all lanes
  std::array<lane, wire::max_lanes> lanes_;
  std::unique_ptr<std::uint16_t[]> freed_;  // slots not given back yet
  std::size_t freed_count_ = 0;
  bool deferred_ = false;  // a completion waits for another one
  std::optional<error> violation_;
  unique_function<void(std::uint16_t, error&)> complete_error_;
  unique_function<bool(std::uint16_t, errc)> keeps_outputs_;
};

}  // namespace troupe
