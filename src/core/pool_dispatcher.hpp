#pragma once

#include "core/turn_dispatcher.hpp"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace troupe::detail {

/// Threads that share the ready actors.
///
/// Actors made ready outside of the pool, or one too many by the same turn, go to a queue under a
/// short lock. The last that a worker's own turn made ready goes to that worker's `next` slot and
/// runs right after the turn, while its message is still in the cache; another worker takes it only
/// when that turn goes on for long.
///
/// Who has nothing to do spins for a bounded time, then parks on `wakes_`. Parking: leave
/// `spinning_`, enter `parked_`, look for work again, sleep. Making ready: publish the work, then
/// look at `spinning_` and `parked_` (all seq_cst, so one of the two sees the other). A spinner
/// that finds work and was the last wakes another, since senders relied on it.
class pool_dispatcher final : public turn_dispatcher {
 public:
  pool_dispatcher(std::int32_t threads, std::int32_t throughput);
  ~pool_dispatcher() override;

  void enqueue(actor_cell& cell) noexcept override;
  void help(actor_cell& cell, const future_state_base& state,
            future_state_base::time_point deadline) noexcept override;
  bool make_room(actor_cell& cell, const message& m) noexcept override;
  void join() noexcept override;

 private:
  struct worker;

  /// Acquire on taking, release on giving up, as any lock.
  class short_lock {
   public:
    void lock() noexcept;
    void unlock() noexcept { held_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool> held_{false};
  };

  static bool others_ready() noexcept;
  static thread_local worker* current_worker;

  void serve(worker& me) noexcept;
  void run(worker& me, actor_cell& cell) noexcept;
  actor_cell* next_for(worker& me) noexcept;
  actor_cell* wait_for_work(worker& me) noexcept;
  actor_cell* spin_for_work(worker& me) noexcept;
  actor_cell* steal_for(worker& me) noexcept;
  actor_cell* take_any() noexcept;
  void push(actor_cell& cell) noexcept;
  actor_cell* pop() noexcept;
  bool pop_if_first(actor_cell& cell) noexcept;
  [[nodiscard]] bool any_work() const noexcept;
  void notify() noexcept;

  std::int32_t throughput_;
  std::vector<std::unique_ptr<worker>> workers_;

  alignas(64) short_lock lock_;
  actor_cell* first_ = nullptr;  ///< guarded by the lock
  actor_cell* last_ = nullptr;   ///< guarded by the lock
  /// Written under the lock. What comes in is stored seq_cst, see above; what goes out relaxed:
  /// whoever still sees it takes the lock and finds nothing.
  std::atomic<std::int64_t> length_{0};

  alignas(64) std::atomic<std::int32_t> spinning_{0};
  std::atomic<std::int32_t> parked_{0};
  std::atomic<std::uint32_t> wakes_{0};
  std::atomic<bool> ending_{false};
};

}  // namespace troupe::detail
