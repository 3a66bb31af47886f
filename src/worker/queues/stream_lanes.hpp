#pragma once

#include "worker/intake/inbox.hpp"
#include "worker/intake/job.hpp"
#include "worker/intake/outbox.hpp"
#include "worker/queues/lane_queue.hpp"
#include "worker/queues/submitter.hpp"
#include "worker/threads/hazards.hpp"
#include "worker/threads/lane_runner.hpp"

#include <troupe/plugin/accelerator.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace troupe::worker {

/// Runs requests on the queues of an accelerator: one thread reads the mailbox and enqueues the
/// work of each request (see `lane_queue`). When several lanes have much to do at once, it gives
/// all but one of them to other threads (`submitter`), which only enqueue; it handles anything that
/// concerns several lanes itself, once it owns those lanes again.
///
/// A request whose call may block (`effort::blocks_host`) is never called on this thread, nor on
/// one that has other lanes: its lane gets a thread of its own, of the same kind, when it first
/// meets one. While such a call runs, nothing behind it in its lane is in the queue, and a mark
/// says that everything before it has ended or will. A request of another lane may depend on
/// something behind the call, or on work that the call itself enqueues: its queue has nothing to
/// wait for yet. So it waits here, in the order of its own lane, until the other lane's thread has
/// given the queue back; then the two queues are ordered as usual. Dependencies before the call
/// have their mark. Meanwhile this thread sleeps, or serves the other lanes.
///
/// A lane is an ordered queue. If a request depends on one of another lane, its queue waits for
/// that lane's. At most `wire::queue_depth` requests of a lane are in its queue at once; the others
/// wait here, where they can still be cancelled or expire.
///
/// While the queues are not empty this thread also polls the marks, to wake a sleeping program, and
/// checks lanes that make no progress: a fault shows as an error of some call or not at all. The
/// first sign of a fault ends this thread's work: the supervisor settles everything that is not
/// marked.
///
/// Until the worker is activated this thread makes its libraries load their code, a step at a time:
/// a standby that is needed early serves at once, and loads the rest on demand. Then it does the
/// same for the twins of lanes on which the program runs graphs.
class stream_lanes final : public lane_runner {
 public:
  struct parts {
    inbox& requests;
    outbox& answers;
    const operation_table& operations;
    wire::address_ranges ranges;
    const std::atomic<std::uint64_t>& memory_version;
    accelerator& device;
    std::vector<std::unique_ptr<accelerator_lane>> lanes{};  ///< the first ones, ready
    wire::doorbells& bells;
    std::uint64_t worker = 0;
    bool in_process = true;  ///< a process of its own: keeps crash reports
    std::shared_ptr<kept_blobs> blobs{};
    int submitters = 0;  ///< threads that help with enqueuing
    /// The warm-up work that each of `warm_lanes` lanes runs while this worker is a standby.
    std::vector<warm_up_lane*> cold{};
    std::size_t warm_lanes = 0;
    /// Called once, when the context is lost.
    std::function<void(error)> lost;
    /// Called once, when nothing is cold any more.
    std::function<void()> warm{};
  };

  explicit stream_lanes(parts p);
  ~stream_lanes() override;
  stream_lanes(const stream_lanes&) = delete;
  stream_lanes& operator=(const stream_lanes&) = delete;

  void stop() noexcept override;

 private:
  using clock = std::chrono::steady_clock;

  struct lane {
    std::unique_ptr<lane_queue> queue;
    std::deque<job*> waiting;
    std::uint64_t admitted = 0;
    std::uint64_t given = 0;    ///< to its queue, or to the thread that owns it
    submitter* with = nullptr;  ///< the thread that owns its queue; null: this one
    submitter* own = nullptr;   ///< its own thread, if it has one
    bool wanted_back = false;   ///< it gets no more until this thread owns it again
    clock::time_point moved{};  ///< when its mark last changed, or it became busy
  };

  void run() noexcept;
  [[nodiscard]] result<void> serve();
  [[nodiscard]] result<bool> take_up();
  [[nodiscard]] std::size_t admit_batch();
  [[nodiscard]] result<void> place(job& j);
  [[nodiscard]] result<bool> submit_waiting();
  [[nodiscard]] bool may_submit(job& j);
  [[nodiscard]] bool is_let_go(const job& j);
  [[nodiscard]] bool let_go();
  [[nodiscard]] bool take_back(lane& l) noexcept;
  [[nodiscard]] result<void> submit(job& j);
  [[nodiscard]] result<void> submit_here(job& j, lane& to, bool alone);
  [[nodiscard]] result<void> submit_apart(job& j, lane& to, bool alone);
  [[nodiscard]] result<void> make_own_thread(lane& of);
  [[nodiscard]] bool may_be_given(const job& j, const lane& to) const noexcept;
  [[nodiscard]] bool give_away(job& j, lane& to);
  [[nodiscard]] submitter& idlest_submitter() const noexcept;
  [[nodiscard]] bool concerns_its_lane_only(const job& j) const noexcept;
  [[nodiscard]] result<void> prepare(job& j, lane& to);
  [[nodiscard]] result<void> mark_all();
  [[nodiscard]] result<void> make_queue(std::size_t number);
  [[nodiscard]] result<void> warm_up_more();
  [[nodiscard]] result<void> warm_up_twins();
  /// Lanes that have run graphs, whose twins are cold.
  [[nodiscard]] std::uint32_t cold_twins() const noexcept {
    return parts_.cold.empty() ? 0 : parts_.requests.graph_lanes() & ~warm_twins_;
  }
  [[nodiscard]] bool is_cold() const noexcept {
    return warmed_up_ < parts_.warm_lanes * parts_.cold.size();
  }
  [[nodiscard]] std::optional<error> take_loss();
  void look_at_marks();
  [[nodiscard]] result<void> check_quiet_lanes(clock::time_point now);
  void wait(clock::time_point quiet_since);
  [[nodiscard]] bool in_flight() const noexcept { return busy_lanes_ != 0; }
  [[nodiscard]] bool is_over(std::size_t number, std::uint64_t place) const noexcept {
    return completed_[number].load(std::memory_order_relaxed) >= place;
  }

  [[nodiscard]] bool is_full(std::size_t number) const noexcept {
    return lanes_[number].given - completed_[number].load(std::memory_order_relaxed) >=
           wire::queue_depth;
  }

  parts parts_;
  std::atomic<bool> stopping_{false};  // then ring the bell, with release

  // Owned by the thread, as is `completed_`: copies of the marks, read with acquire.
  hazard_tracker::completed_counts completed_{};
  hazard_tracker hazards_;
  std::array<lane, wire::max_lanes> lanes_;
  std::vector<std::unique_ptr<job>> jobs_;  // by slot
  std::array<job*, 8> batch_{};             // read, to be enqueued or to wait
  std::size_t batch_left_ = 0;              // the rest of it, after the current one
  std::uint32_t waiting_lanes_ = 0;         // bit per lane with requests not yet in its queue
  std::uint32_t busy_lanes_ = 0;            // bit per lane with requests in its queue
  bool marks_moved_ = false;                // since `serve` checked last
  std::uint32_t unmarked_lanes_ = 0;        // bit per lane of this thread's that lacks a mark
  std::size_t own_lane_ = 0;                // the lane for which this thread enqueued last
  std::vector<std::unique_ptr<submitter>> submitters_;
  std::vector<std::unique_ptr<submitter>> own_threads_;  // one a lane: see `lane::own`
  clock::time_point submitted_at_{};
  bool alone_in_flight_ = false;     ///< the last submitted job must run alone
  const job* next_alone_ = nullptr;  // waits for the queues to be empty; others wait for it
  std::size_t warmed_up_ = 0;        // steps of `parts::cold`, lane by lane
  std::uint32_t warm_twins_ = 0;     // bit per lane
  std::size_t twin_steps_ = 0;       // steps of `parts::cold` that the next of them has run
  bool begun_ = false;
  bool impossible_mark_ = false;

  std::jthread thread_;
};

}  // namespace troupe::worker
