#pragma once

#include "worker/intake/inbox.hpp"
#include "worker/intake/job.hpp"
#include "worker/intake/outbox.hpp"

#include <troupe/plugin/accelerator.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace troupe::worker {

/// A lane on an accelerator: enqueues the work of its requests, in order, and marks behind it,
/// which the accelerator itself writes into shared memory. So a completion needs no thread of the
/// worker, and survives the worker.
///
/// A mark costs a third of a short request, so requests whose end is not awaited share one, if all
/// of them can run again together, in order, should it never come: they read nothing that they
/// write, their inputs are not overwritten, and no other lane depends on them. All others are
/// separated from their neighbours by a mark before and a mark after.
///
/// If an accelerator has more work than it is given space for, even that mark is stored aside:
/// later requests may begin before it is written. Separated requests still wait for it, so a fault
/// can find begun and unmarked only requests that can run again.
///
/// One thread at a time owns it. Any thread may call `given_back` and `check`.
class lane_queue {
 public:
  /// The owner of a queue without its last mark waits this long for more requests to share it.
  static constexpr std::chrono::microseconds longest_unmarked{10};

  lane_queue(std::size_t number, std::unique_ptr<accelerator_lane> queue, inbox& requests,
             outbox& answers) noexcept
      : number_(number), queue_(std::move(queue)), requests_(requests), answers_(answers) {}

  /// Enqueues a job, or answers it if it is refused; `alone`: it runs alone. The job is not used
  /// any more after that. \errors `device_fault` if the context is lost
  [[nodiscard]] result<void> submit(job& j, bool alone);
  /// Marks the end of the enqueued work, unless it is marked.
  [[nodiscard]] result<void> mark();
  [[nodiscard]] bool unmarked() const noexcept { return submitted_ != marked_; }
  /// True if no more may be enqueued before a mark moves, and a mark that will is enqueued.
  [[nodiscard]] bool full() const noexcept {
    return submitted_ - answers_.completed(number_) >= wire::queue_depth;
  }
  /// All later work waits for everything that `other` holds now; the caller owns both.
  [[nodiscard]] result<void> wait_for(lane_queue& other);

  /// Everything is marked, and the calling thread gives the queue up (release).
  void give_back() noexcept { given_back_.store(marked_, std::memory_order_release); }
  /// The place of the last job when it was given back. Acquire: a thread that sees the place of the
  /// last job it gave away owns the queue again.
  [[nodiscard]] std::uint64_t given_back() const noexcept {
    return given_back_.load(std::memory_order_acquire);
  }
  /// Runs a little work and waits for its end, before there are any requests.
  [[nodiscard]] result<void> warm_up(warm_up_lane& work);
  /// The same on its twin, which it has from then on.
  [[nodiscard]] result<void> warm_up_twin(warm_up_lane& work);
  /// Checks its state, without waiting. \errors `device_fault`
  [[nodiscard]] result<void> check() { return queue_->check(); }

 private:
  [[nodiscard]] result<void> enqueue(job& j);
  [[nodiscard]] result<void> mark_aside();
  [[nodiscard]] std::uint64_t ordered() noexcept;
  void set_unmarked(std::uint64_t place, bool unmarked) noexcept;

  const std::size_t number_;
  const std::unique_ptr<accelerator_lane> queue_;
  inbox& requests_;
  outbox& answers_;
  std::uint64_t submitted_ = 0;
  std::uint64_t marked_ = 0;
  std::uint64_t ordered_ = 0;   // the last one whose mark is written before more begins
  bool behind_ = false;         // the accelerator has not reached the last mark yet
  std::uint64_t unmarked_ = 0;  // see wire::lane_mark
  std::atomic<std::uint64_t> given_back_{0};
};

/// True if a failure means that the context is lost.
[[nodiscard]] bool is_loss(const result<void>& outcome) noexcept;

}  // namespace troupe::worker
