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

/// A lane on an accelerator: enqueues what its requests ask for, in order, and marks behind it,
/// which the accelerator itself writes into shared memory. So a completion needs no thread of the
/// worker, and outlives it.
///
/// A mark costs a third of a short request, so requests whose end nobody waits for share one, as
/// long as all that share it can be run again together, in order, should it never come: they read
/// nothing that they write, nobody overwrites what they have read, no other lane relies on them.
/// All others are told apart from their neighbours by a mark before and a mark after.
///
/// Where an accelerator has more to do than it is given room for, even that mark is stored aside:
/// the requests after it may begin before it is there. What is told apart waits for it all the
/// same, so what a fault may find begun and unmarked is what can be run again.
///
/// One thread at a time has it. Any thread may call `given_back` and `check`.
class lane_queue {
 public:
  /// Whoever has a queue without its last mark waits so long for more that may share it.
  static constexpr std::chrono::microseconds longest_unmarked{10};

  lane_queue(std::size_t number, std::unique_ptr<accelerator_lane> queue, inbox& requests,
             outbox& answers) noexcept
      : number_(number), queue_(std::move(queue)), requests_(requests), answers_(answers) {}

  /// Enqueues a job and answers it if it is refused; `alone` says that nothing runs beside it. The
  /// job is not touched any more after that. \errors `device_fault`, when the context is lost
  [[nodiscard]] result<void> submit(job& j, bool alone);
  /// Marks the end of what has been enqueued, unless that has its mark.
  [[nodiscard]] result<void> mark();
  [[nodiscard]] bool unmarked() const noexcept { return submitted_ != marked_; }
  /// No more is enqueued before a mark has moved, and one that will is on its way.
  [[nodiscard]] bool full() const noexcept {
    return submitted_ - answers_.completed(number_) >= wire::queue_depth;
  }
  /// What is enqueued from here on waits for all that `other` holds now; both are the caller's.
  [[nodiscard]] result<void> wait_for(lane_queue& other);

  /// All is marked, and the calling thread is done with the queue for now (release).
  void give_back() noexcept { given_back_.store(marked_, std::memory_order_release); }
  /// The place of the last job when it was given back. Acquire: a thread that sees the place of the
  /// last job it has given away has the queue again.
  [[nodiscard]] std::uint64_t given_back() const noexcept {
    return given_back_.load(std::memory_order_acquire);
  }
  /// Runs a little work and waits for its end, before there are any requests.
  [[nodiscard]] result<void> warm_up(warm_up_lane& work);
  /// Asks how it is, without waiting. \errors `device_fault`
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
  std::uint64_t ordered_ = 0;   // of those, the last one whose mark is there before more begins
  bool behind_ = false;         // the accelerator has not yet come to the last mark
  std::uint64_t unmarked_ = 0;  // see wire::lane_mark
  std::atomic<std::uint64_t> given_back_{0};
};

/// True when a failure means that the context is lost.
[[nodiscard]] bool is_loss(const result<void>& outcome) noexcept;

}  // namespace troupe::worker
