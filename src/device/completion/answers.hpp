#pragma once

#include "device/completion/ended_times.hpp"
#include "device/completion/lane_walk.hpp"
#include "device/completion/outcome_counts.hpp"
#include "device/completion/protocol_violation.hpp"
#include "device/completion/quarantine_book.hpp"
#include "device/completion/taint_watch.hpp"
#include "device/journal/request_notes.hpp"
#include "device/mailbox/mailbox.hpp"
#include "device/mailbox/record.hpp"

#include <troupe/base/unique_function.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace troupe {

/// Ends requests: reads the answers that a worker left, checks and completes them, and frees the
/// slots. Belongs to the reactor's role.
///
/// An answer may send, so each request has left its lane, and its slot is free, before its answer
/// runs. Slots of requests without waiters are given back together (`give_back_freed`).
class answers {
 public:
  /// Written with the role, read by any thread. Release: a reader (acquire) that then reads the
  /// next ticket finds that at least as many were sent.
  struct counts {
    std::atomic<std::uint64_t> answered{0};
    std::atomic<std::uint64_t> failed{0};
  };
  /// Fills in the request, the device and the generation of a failure.
  using complete_error = unique_function<void(std::uint16_t, error&)>;
  /// Whether the outputs of a request that failed are defined.
  using keeps_outputs = unique_function<bool(std::uint16_t, errc)>;

  answers(mailbox& requests, std::span<record> records, lane_walk& walk, taint_watch& taints,
          quarantine_book& quarantine, protocol_violation& violation, bool on_device);

  /// Ends a request that the worker in service has completed.
  void finish(std::uint16_t slot, bool may_have_reply) {
    if (!may_have_reply && !records_[slot].type->has_reply()) [[likely]] {
      return end(slot, nullptr, nullptr, slot_is::freed);
    }
    end_as_left(walk_.segment(), slot, may_have_reply, slot_is::freed);
  }
  /// See `reactor`.
  void answer_early(std::uint16_t slot, error why);
  void answer_completed(std::uint16_t slot, const wire::worker_header* by, bool may_have_reply);
  void drop(std::uint16_t slot, error why);
  /// A request that was answered early is known not to have run, and must not be.
  void forget(std::uint16_t slot);
  /// Marks the outputs of a request as undefined that `why` ends. \returns how many
  int taint_outputs(std::uint16_t slot, error& why) {
    complete(slot, why);
    return taints_.taint_outputs(slot, why);
  }
  void give_back_freed() noexcept;

  /// A request as errors show it.
  [[nodiscard]] std::string text_of(std::uint16_t slot);
  [[nodiscard]] const counts& totals() const noexcept { return counts_; }
  [[nodiscard]] outcome_counts& outcomes() noexcept { return outcomes_; }
  void note_generation(std::uint64_t now) noexcept { generation_ = now; }
  [[nodiscard]] std::uint64_t skipped_reruns() const noexcept { return skipped_reruns_; }
  [[nodiscard]] const ended_times& times() const noexcept { return times_; }
  /// Called for a request that ended its worker, before it is answered. Set before any is sent.
  using keep_fault = unique_function<void(std::uint16_t, const error&)>;
  void on_fault(keep_fault keep) { keep_fault_ = std::move(keep); }
  /// Notes the ends of requests that were noted. Set before any is sent.
  void note_to(journal::request_notes* notes) noexcept { notes_ = notes; }
  void on_failure(complete_error complete) { complete_error_ = std::move(complete); }
  void on_outcome(keeps_outputs keeps) { keeps_outputs_ = std::move(keeps); }

 private:
  enum class slot_is : bool { kept, freed };
  // Whether a failed request may have written.
  enum class begun : std::uint8_t { unknown, no, yes };
  struct word_left;

  void end(std::uint16_t slot, std::byte* reply, error* failure, slot_is what,
           begun had = begun::unknown);
  void leave_undefined(std::uint16_t slot, const error& why, begun had);
  void end_as_left(const wire::worker_header* segment, std::uint16_t slot, bool may_have_reply,
                   slot_is what);
  [[nodiscard]] std::optional<error> read_word(const wire::worker_header* segment,
                                               std::uint16_t slot, bool may_have_reply,
                                               slot_is what, word_left& left);
  [[nodiscard]] bool has_kept_outputs(std::uint16_t slot, errc code);
  void complete(std::uint16_t slot, error& failure);
  void note_answered(record& r, const error* failure);
  void note_failed(const record& r, errc code);
  void note_end(std::uint16_t slot, const std::byte* reply, const error* failure);
  void note_times(std::uint16_t slot, const error* failure);
  void free_slot(std::uint16_t slot);

  mailbox& requests_;
  record* const records_;
  lane_walk& walk_;
  taint_watch& taints_;
  quarantine_book& quarantine_;
  protocol_violation& violation_;
  std::unique_ptr<std::uint16_t[]> freed_;  // slots not given back yet
  std::size_t freed_count_ = 0;
  std::uint64_t skipped_reruns_ = 0;
  ended_times times_;
  std::uint64_t generation_ = 0;  // the worker in service has it
  counts counts_;
  outcome_counts outcomes_;
  journal::request_notes* notes_ = nullptr;
  complete_error complete_error_;
  keeps_outputs keeps_outputs_;
  keep_fault keep_fault_;
};

}  // namespace troupe
