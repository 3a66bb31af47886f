#pragma once

#include "core/dispatch/deferred_continuations.hpp"
#include "core/dispatch/turn_dispatcher.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe::detail {

/// Threads that share the ready actors.
///
/// Actors made ready outside of the pool, or all but the last by the same turn, go to a queue under
/// a short lock. The last one that a worker's own turn made ready goes to that worker's `next` slot
/// and runs right after the turn, while its message is still in the cache; another worker takes it
/// only if that turn lasts long. No thread is woken for it: while there are turns, one idle thread
/// checks such slots now and then (`watched_`). A thread that fills a slot reads `watched_` after
/// it, and a thread that ends the watch looks for turns after that (seq_cst): at least one of the
/// two sees the other. A slot is emptied before its worker sleeps.
///
/// An idle thread spins for a bounded time, then parks on `wakes_`. Parking: leave `spinning_`,
/// enter `parked_`, look for work again, sleep. Making ready: publish the work, then read
/// `spinning_` and `parked_` (all seq_cst, so at least one of the two sees the other). The last
/// spinner that finds work wakes another thread, because senders relied on it.
///
/// A turn may sleep, until a future is ready or a mailbox has capacity, and the event it waits for
/// may need a thread. So when the last thread that is awake falls asleep a spare one takes its
/// place. A spare thread has no slot, and rests when as many others are awake as the pool is meant
/// to have.
class pool_dispatcher final : public turn_dispatcher, private stand_in {
 public:
  pool_dispatcher(std::int32_t threads, std::int32_t throughput);
  ~pool_dispatcher() override;

  void enqueue(actor_cell& cell) noexcept override;
  void help(actor_cell& cell, const future_state_base& state,
            future_state_base::time_point deadline) noexcept override;
  bool await_capacity(actor_cell& cell, const message& m) noexcept override;
  [[nodiscard]] bool has_this_thread() const noexcept override;
  void join() noexcept override;

 private:
  struct worker;

  /// Acquire on locking, release on unlocking, as any lock.
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
  void thread_sleeps() noexcept override;
  void thread_wakes() noexcept override;
  [[nodiscard]] bool is_one_too_many() noexcept;
  [[nodiscard]] bool rest() noexcept;
  void run(worker& me, actor_cell& cell) noexcept;
  actor_cell* next_for(worker& me) noexcept;
  actor_cell* wait_for_work(worker& me) noexcept;
  actor_cell* park(worker& me) noexcept;
  actor_cell* watch(worker& me, std::uint32_t seen) noexcept;
  actor_cell* spin_for_work(worker& me) noexcept;
  actor_cell* steal_for(worker& me) noexcept;
  actor_cell* take_any() noexcept;
  void push(actor_cell& cell) noexcept;
  actor_cell* pop() noexcept;
  bool pop_if_first(actor_cell& cell) noexcept;
  [[nodiscard]] bool any_work() const noexcept;
  [[nodiscard]] bool any_slot_filled() const noexcept;
  /// True if some thread is neither parked nor asleep in a turn.
  [[nodiscard]] bool turns_run() const noexcept;
  void notify() noexcept;

  std::int32_t throughput_;
  std::vector<std::unique_ptr<worker>> workers_;

  alignas(64) short_lock lock_;
  actor_cell* first_ = nullptr;  ///< guarded by the lock
  actor_cell* last_ = nullptr;   ///< guarded by the lock
  /// Written under the lock. Additions are stored seq_cst, see above; removals relaxed: a thread
  /// that still sees one takes the lock and finds nothing.
  std::atomic<std::int64_t> length_{0};

  alignas(64) std::atomic<std::int32_t> spinning_{0};
  std::atomic<std::int32_t> parked_{0};
  std::atomic<std::uint32_t> wakes_{0};
  std::atomic<bool> watched_{false};
  std::atomic<bool> ending_{false};

  /// Threads that do not sleep in a turn, including idle ones; seq_cst: only the thread that counts
  /// it down to zero brings a spare one, which is counted at once.
  alignas(64) std::atomic<std::int32_t> awake_{0};
  std::mutex spares_mutex_;
  std::condition_variable spare_is_called_;
  std::vector<std::unique_ptr<worker>> spares_;  ///< guarded, as are the next three
  int resting_ = 0;
  int called_ = 0;  ///< how many of them were called
  bool spares_end_ = false;
};

}  // namespace troupe::detail
