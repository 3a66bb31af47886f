#pragma once

#include "core/turn_dispatcher.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace troupe::detail {

/// One thread for one actor.
class pinned_dispatcher final : public turn_dispatcher {
 public:
  explicit pinned_dispatcher(std::int32_t throughput) noexcept
      : throughput_(std::max(throughput, 1)) {}

  void enqueue(actor_cell& cell) noexcept override;
  void help(actor_cell& cell, const future_state_base& state,
            future_state_base::time_point deadline) noexcept override;
  bool make_room(actor_cell& cell, const message& m) noexcept override;
  void cell_stopped() noexcept override;
  void join() noexcept override;

  /// True once the actor has stopped and the thread is joined.
  bool join_if_finished() noexcept;

 private:
  void serve() noexcept;

  std::int32_t throughput_;
  // The ready actor, exchanged acq_rel: the turn sees what made it ready. `changes_` is what the
  // thread sleeps on. Parking: enter `parked_`, look at `ready_` again, sleep; making ready: store
  // `ready_`, raise the word, look at `parked_`. All seq_cst, so one of the two sees the other.
  // `stopping_` is the thread's own, set in the actor's last turn; `finished_`, its last word, lets
  // another thread join it. `started_` only has one make the thread, under the mutex.
  std::atomic<actor_cell*> ready_{nullptr};
  std::atomic<std::uint32_t> changes_{0};
  std::atomic<bool> parked_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> finished_{false};
  std::atomic<bool> started_{false};
  std::mutex thread_mutex_;  ///< guards the handle: its thread may end before it is assigned
  std::thread thread_;       ///< started by the first turn
};

}  // namespace troupe::detail
