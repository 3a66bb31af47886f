#pragma once

#include "core/dispatch/turn_dispatcher.hpp"

#include <atomic>
#include <thread>

namespace troupe::detail {

/// One thread for one actor.
class pinned_dispatcher final : public turn_dispatcher {
 public:
  /// Throws `failure` (`errc::system_error`) if the thread cannot be started.
  explicit pinned_dispatcher(std::int32_t throughput);

  void enqueue(actor_cell& cell) noexcept override;
  void help(actor_cell& cell, const future_state_base& state,
            future_state_base::time_point deadline) noexcept override;
  bool await_capacity(actor_cell& cell, const message& m) noexcept override;
  void cell_stopped() noexcept override;
  [[nodiscard]] bool has_this_thread() const noexcept override;
  void join() noexcept override;

  /// True once the actor has stopped and the thread is joined.
  bool join_if_finished() noexcept;

 private:
  void serve() noexcept;
  void wake() noexcept;

  std::int32_t throughput_;
  // The ready actor, exchanged acq_rel: the turn sees what made it ready. `changes_` is the
  // thread's futex word. Parking: set `parked_`, read `ready_` and `stopping_` again, sleep; making
  // ready, or stopping: store that, raise the word, read `parked_`. All seq_cst, so at least one of
  // the two sees the other. `stopping_` is set in the actor's last turn, or for one that never had
  // any; `finished_`, the thread's last store, lets another one join it.
  std::atomic<actor_cell*> ready_{nullptr};
  std::atomic<std::uint32_t> changes_{0};
  std::atomic<bool> parked_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> finished_{false};
  std::thread thread_;  ///< last: it uses all of that
};

}  // namespace troupe::detail
