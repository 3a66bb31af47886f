#pragma once

#include "worker/queues/lane_queue.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

namespace troupe::worker {

/// The tasks of a submitter.
struct submitter_duties {
  std::size_t lanes = wire::max_lanes;     ///< at most so many give it jobs
  std::chrono::microseconds spins{1'000};  ///< before it sleeps
};

/// A thread that enqueues for the one that reads the mailbox, while that is busy with another lane:
/// a launch takes microseconds of a processor, reading a request a fraction of one. Or the thread
/// of a single lane, for calls that block (`effort::blocks_host`).
///
/// The reader gives it jobs (`give`) through a ring: the reader owns the tail and this thread the
/// head; each is published with release and read with acquire. With a job the thread gets its
/// lane's queue. The reader owns the queue again once `lane_queue::given_back` says so.
///
/// The head is not published: a ring place is reused after as many jobs as its lanes can hold, so
/// its last job has its mark, which the reader has seen. `asleep_` is relaxed, between fences: set
/// it, fence, read the tail; store the tail, fence, read it.
class submitter {
 public:
  submitter(accelerator& device, bool in_process, submitter_duties d = {});
  ~submitter();
  submitter(const submitter&) = delete;
  submitter& operator=(const submitter&) = delete;

  /// Called by the reader. There is always space: a lane holds at most `wire::queue_depth` jobs.
  /// `alone`: the job runs alone.
  void give(lane_queue& to, job& j, bool alone = false) noexcept;
  /// The reason why the context is lost, if this thread has found that; it then does nothing any
  /// more.
  [[nodiscard]] std::optional<error> take_loss();
  /// Enqueues nothing more, from now on.
  void end() noexcept;

 private:
  struct item {
    lane_queue* to = nullptr;
    job* what = nullptr;
    bool alone = false;
  };
  struct unmarked_lane {
    lane_queue* lane = nullptr;
    std::uint64_t since = 0;  // the number enqueued at that time
  };

  void run() noexcept;
  [[nodiscard]] result<void> serve();
  void note(lane_queue& used);
  [[nodiscard]] result<void> mark_all(bool full_ones_too);
  void sleep() noexcept;

  accelerator& device_;
  const std::chrono::microseconds spins_;
  std::vector<item> ring_;
  alignas(wire::cache_line) std::atomic<std::uint64_t> tail_{0};
  std::atomic<std::uint32_t> bell_{0};  // raised for every wake
  alignas(wire::cache_line) std::atomic<std::uint32_t> asleep_{0};
  std::atomic<bool> ending_{false};
  std::atomic<bool> lost_{false};  // release: `loss_` is complete
  std::optional<error> loss_;

  // Owned by the thread.
  std::uint64_t head_ = 0;
  std::vector<unmarked_lane> unmarked_;  // the one that has waited longest first

  std::jthread thread_;
};

}  // namespace troupe::worker
