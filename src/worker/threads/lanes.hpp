#pragma once

#include "worker/intake/inbox.hpp"
#include "worker/intake/job.hpp"
#include "worker/intake/outbox.hpp"
#include "worker/threads/hazards.hpp"
#include "worker/threads/lane_runner.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe::worker {

/// Runs requests on threads, for backends whose calls return when the work is done.
///
/// A lane is a queue, not a thread: any thread runs the head of any lane, one at a time per lane,
/// once its dependencies have completed. One thread at a time has the **reader's role**: it takes
/// requests from the inbox, decodes them and admits them to their lanes.
///
///  - While nothing else runs, the reader runs small requests itself, without lock or hand-over:
///    the shortest way from request to mark.
///  - Before a large request it gives the role up and runs it; the next request finds no thread
///    awake (`doorbells::worker_sleeps`) and so wakes another one, which takes the role. An idle
///    second thread thus costs nothing, and no third one spins beside the two that work.
///  - A request that must run alone keeps others from starting once its dependencies have
///    completed, and starts when the last running one has ended. A request that the reader runs
///    itself is alone anyway.
///  - A reader with nothing to read spins for a bounded time, then sleeps.
///  - The lane of parts of requests for several devices has a thread of its own, which runs nothing
///    else: a part waits for its peers, however few threads there are. It starts with the first
///    part.
///
/// `mutex_` guards the lanes' queues. The inbox, the hazards and the jobs being decoded belong to
/// the role, which is an atomic flag taken with acquire and given up with release. A lane's counts
/// are written by the thread that runs its current job only.
class threaded_lanes final : public lane_runner {
 public:
  struct parts {
    inbox& requests;
    outbox& answers;
    const operation_table& operations;
    wire::address_ranges ranges;
    wire::doorbells& bells;
    /// The changes of memory made so far. Null: all.
    const std::atomic<std::uint64_t>* memory_version = nullptr;
    std::uint64_t worker = 0;  ///< this worker's number
    int threads = 2;
    bool in_process = true;  ///< a process of its own: keeps crash reports
    std::shared_ptr<kept_blobs> blobs{};
    library_methods methods{};
  };

  explicit threaded_lanes(const parts& p);
  ~threaded_lanes() override;
  threaded_lanes(const threaded_lanes&) = delete;
  threaded_lanes& operator=(const threaded_lanes&) = delete;

  /// Ends the threads once their current requests have ended.
  void stop() noexcept override;

 private:
  struct lane_state;

  void run_thread() noexcept;
  void run_parts() noexcept;
  void ring_part_thread() noexcept;
  bool read_for_a_while();
  void give_up_role() noexcept;
  void sleep_until_rung() noexcept;
  [[nodiscard]] bool left_unread() noexcept;
  [[nodiscard]] bool let_go() noexcept;
  [[nodiscard]] bool take_role() noexcept;
  [[nodiscard]] job& admit(std::uint64_t entry);
  [[nodiscard]] job* take_ready();
  [[nodiscard]] job* take_ready_locked(std::uint32_t among);
  void announce_idle() noexcept;
  [[nodiscard]] bool may_start(job& j) noexcept;
  [[nodiscard]] bool hazards_over(const job& j) const noexcept;
  void run_and_finish(job& j);
  void announce_completed() noexcept;
  void run(job& j) noexcept;
  [[nodiscard]] result<void> execute(job& j, lane_state& lane);

  parts parts_;
  std::atomic<bool> stopping_{false};  // then ring the bell, with release
  std::atomic<bool> role_taken_{false};

  // Release: a thread that sees a count also sees the outputs of those requests.
  hazard_tracker::completed_counts completed_{};

  // With the role:
  hazard_tracker hazards_;
  std::vector<std::unique_ptr<job>> jobs_;  // by slot
  std::array<std::uint64_t, wire::max_lanes> admitted_{};
  bool begun_ = false;
  int ran_alone_ = 0;  // and not announced yet

  std::array<std::unique_ptr<lane_state>, wire::max_lanes> lanes_;

  std::mutex mutex_;
  std::array<std::deque<job*>, wire::max_lanes> queues_;
  std::uint32_t waiting_lanes_ = 0;  // lanes whose queue is not empty
  std::uint32_t running_lanes_ = 0;  // lanes whose head is being run
  int first_lane_ = 0;               // the next to check, so that each has its turn
  bool alone_runs_ = false;          // the running job must be alone
  bool prepares_ = false;            // at the last check, a lane's head was not prepared
  const job* next_alone_ = nullptr;  // waits until nothing runs; all others wait for it
  // Jobs in queues or run from queues. Only the reader raises it, so when the reader sees 0 it is
  // alone, and stays so until it admits a job. Lowered with release: the reader then sees all their
  // outputs. A thread that goes to sleep reads it, too. Raised with release: a thread that misses
  // that is woken once one of them may begin.
  std::atomic<std::uint32_t> queued_{0};

  std::vector<std::jthread> threads_;
  std::atomic<std::uint32_t> part_bell_{
      0};                     // the thread of parts sleeps on it; raised with release
  std::jthread part_thread_;  // started with the role
};

}  // namespace troupe::worker
