#pragma once

#include "worker/intake/inbox.hpp"
#include "worker/intake/job.hpp"
#include "worker/intake/outbox.hpp"

#include <chrono>
#include <memory>

namespace troupe::worker {

/// Holds a job's turn, see `operation::take_turn`, from before it counts as begun until it has run.
class operation_turn {
 public:
  /// A timed job records how long it waited for that.
  explicit operation_turn(job& j)
      : of_(!j.refused && j.op != nullptr && j.op->take_turn != nullptr ? j.op : nullptr) {
    using clock = std::chrono::steady_clock;
    j.turn = {};
    if (of_ == nullptr) return;
    const clock::time_point begin = j.timed ? clock::now() : clock::time_point();
    of_->take_turn(of_->executor);
    if (j.timed) j.turn = clock::now() - begin;
  }
  operation_turn(const operation_turn&) = delete;
  operation_turn& operator=(const operation_turn&) = delete;
  ~operation_turn() {
    if (of_ != nullptr) of_->end_turn(of_->executor);
  }

 private:
  const operation* of_;
};

/// Whether nothing must be prepared for a job any more: it is prepared, see `operation::prepared`,
/// or the program no longer wants the answer.
[[nodiscard]] inline bool is_prepared(job& j, const inbox& requests,
                                      const std::shared_ptr<kept_blobs>& blobs) noexcept {
  return j.prepared || requests.revoked(j.slot) || j.is_prepared(blobs);
}

/// Call when the job has been read. A held request is not prepared: it may have ended the previous
/// worker.
inline void begin_to_prepare(job& j, const inbox& requests,
                             const std::shared_ptr<kept_blobs>& blobs) noexcept {
  j.prepared = j.refused || j.op == nullptr || j.op->prepared == nullptr;
  if (j.held != wire::hold::until_released) (void)is_prepared(j, requests, blobs);
}

/// Whether a job whose turn has come may run. \errors the failure of its decoding; `cancelled` if
/// the program no longer wants it; `deadline_exceeded`
[[nodiscard]] result<void> may_run(job& j, const inbox& requests);

/// Calls the job's executor, which writes its reply to the memory that `answers` provides; if the
/// process ends meanwhile, its crash report or the lane's mark names the job. \errors the
/// executor's, those of `outbox::put_reply`; an exception becomes `out_of_memory` or
/// `handler_failed`
[[nodiscard]] result<void> call_executor(const job& j, lane_context& lane, outbox& answers,
                                         wire::request_stamps* stamps);

}  // namespace troupe::worker
