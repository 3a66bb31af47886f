// The idle threads of the pool, and replacements for sleeping ones.
#include "core/actor/actor_cell.hpp"
#include "core/dispatch/pool_worker.hpp"
#include "os/futex.hpp"
#include "os/thread.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

namespace troupe::detail {

bool pool_dispatcher::any_work() const noexcept {
  return length_.load(std::memory_order_seq_cst) != 0 || any_slot_filled();
}

bool pool_dispatcher::any_slot_filled() const noexcept {
  return std::any_of(workers_.begin(), workers_.end(), [](const auto& w) {
    return w->next.load(std::memory_order_seq_cst) != nullptr;
  });
}

// An actor that the running turn made ready is best left to the same worker, so a thief takes it
// only if it finds the same turn there twice. It looks rarely: each look takes the cache line away
// from the worker.
actor_cell* pool_dispatcher::steal_for(worker& me) noexcept {
  const auto is_filled = [&](worker& victim) {
    return &victim != &me && victim.next.load(std::memory_order_relaxed) != nullptr;
  };
  worker& last = *workers_[me.looked_at];
  if (is_filled(last) && last.turns.load(std::memory_order_relaxed) == me.turn_seen) {
    if (actor_cell* cell = last.next.exchange(nullptr, std::memory_order_seq_cst)) return cell;
  }
  for (std::size_t i = 1; i <= workers_.size(); ++i) {
    const std::size_t at = (me.looked_at + i) % workers_.size();
    if (!is_filled(*workers_[at])) continue;
    me.looked_at = at;
    me.turn_seen = workers_[at]->turns.load(std::memory_order_relaxed);
    break;
  }
  return nullptr;
}

actor_cell* pool_dispatcher::take_any() noexcept {
  if (actor_cell* cell = pop()) return cell;
  for (auto& w : workers_) {
    if (w->next.load(std::memory_order_seq_cst) == nullptr) continue;
    if (actor_cell* cell = w->next.exchange(nullptr, std::memory_order_seq_cst)) return cell;
  }
  return nullptr;
}

actor_cell* pool_dispatcher::spin_for_work(worker& me) noexcept {
  constexpr std::uint32_t steps_between_thefts = 16;  // about 7 us
  spin_wait spin(me.budget.current());
  for (std::uint32_t step = 1; !ending_.load(std::memory_order_relaxed); ++step) {
    if (length_.load(std::memory_order_relaxed) != 0) {
      // A thread that asks and then waits runs the actor itself, sooner than this one could. The
      // more often that happens, the longer this one holds back, up to about 7 us.
      for (int i = 0; i < (8 << me.outrun); ++i)
        pause_cpu();
      if (actor_cell* cell = pop()) {
        me.outrun = 0;
        return cell;
      }
      me.outrun = std::min(me.outrun + 1, 4);
    }
    if (step % steps_between_thefts == 0) {
      if (actor_cell* cell = steal_for(me)) return cell;
    }
    if (!spin.step()) return nullptr;
  }
  return nullptr;
}

bool pool_dispatcher::turns_run() const noexcept {
  return awake_.load(std::memory_order_seq_cst) > parked_.load(std::memory_order_seq_cst);
}

actor_cell* pool_dispatcher::watch(worker& me, std::uint32_t seen) noexcept {
  constexpr int vain_looks = 8;  // empty slots may be filled at any time
  for (int vain = 0;
       vain < vain_looks && turns_run() && wakes_.load(std::memory_order_seq_cst) == seen;) {
    if (actor_cell* cell = steal_for(me)) {
      me.watch = worker::shortest_watch;
      return cell;
    }
    os::futex_wait(wakes_, seen, std::chrono::steady_clock::now() + me.watch, os::sharing::program);
    me.watch = std::min(2 * me.watch, worker::longest_watch);
    vain = any_slot_filled() ? 0 : vain + 1;
  }
  return nullptr;
}

actor_cell* pool_dispatcher::park(worker& me) noexcept {
  const std::uint32_t seen = wakes_.load(std::memory_order_seq_cst);
  parked_.fetch_add(1, std::memory_order_seq_cst);
  const bool ends = ending_.load(std::memory_order_seq_cst);
  actor_cell* found = ends ? take_any() : pop();
  bool watches = turns_run();
  while (found == nullptr && !ends && wakes_.load(std::memory_order_seq_cst) == seen) {
    if (watches && !watched_.exchange(true, std::memory_order_seq_cst)) {
      found = watch(me, seen);
      watched_.store(false, std::memory_order_seq_cst);
      watches = any_slot_filled();
    } else {
      os::futex_wait(wakes_, seen, std::chrono::steady_clock::time_point::max(),
                     os::sharing::program);
    }
  }
  if (found == nullptr) found = pop();
  parked_.fetch_sub(1, std::memory_order_seq_cst);
  return found;
}

actor_cell* pool_dispatcher::wait_for_work(worker& me) noexcept {
  spinning_.fetch_add(1, std::memory_order_seq_cst);
  actor_cell* found = spin_for_work(me);
  const bool was_last = spinning_.fetch_sub(1, std::memory_order_seq_cst) == 1;
  if (found != nullptr) {
    me.budget.spinning_was_enough();
    if (!was_last) return found;
  } else {
    me.budget.spinning_was_in_vain();
    found = park(me);
  }
  // Work that became ready meanwhile was left to this thread, and so were the slots.
  const bool is_watched = watched_.load(std::memory_order_seq_cst);
  if (length_.load(std::memory_order_seq_cst) != 0 || (!is_watched && any_slot_filled())) notify();
  return found;
}

void pool_dispatcher::thread_sleeps() noexcept {
  // No thread was woken for the work that this one would have done after its turn.
  worker& me = *current_worker;
  if (actor_cell* cell = me.next.exchange(nullptr, std::memory_order_seq_cst)) push(*cell);
  if (length_.load(std::memory_order_seq_cst) != 0) notify();
  if (awake_.fetch_sub(1, std::memory_order_seq_cst) > 1) return;
  awake_.fetch_add(1, std::memory_order_seq_cst);
  const std::lock_guard lock(spares_mutex_);
  if (resting_ > called_ && !spares_end_) {
    ++called_;
    return spare_is_called_.notify_one();
  }
  try {
    spares_.push_back(std::make_unique<worker>(*this, true));
  } catch (const std::bad_alloc&) {
    awake_.fetch_sub(1, std::memory_order_seq_cst);
    return;
  }
  worker& made = *spares_.back();
  try {
    made.thread = os::start_thread([this, &made] { serve(made); });
  } catch (const std::system_error&) {
    // Best effort: the next one to fall asleep tries again, and a thread that waits for capacity
    // checks repeatedly.
    spares_.pop_back();
    awake_.fetch_sub(1, std::memory_order_seq_cst);
  }
}

void pool_dispatcher::thread_wakes() noexcept { awake_.fetch_add(1, std::memory_order_seq_cst); }

bool pool_dispatcher::is_one_too_many() noexcept {
  const auto enough = static_cast<std::int32_t>(workers_.size());
  std::int32_t awake = awake_.load(std::memory_order_relaxed);
  while (awake > enough) {
    if (awake_.compare_exchange_weak(awake, awake - 1, std::memory_order_seq_cst,
                                     std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

// False when the pool ends.
bool pool_dispatcher::rest() noexcept {
  if (any_work()) notify();  // which may have woken this one
  std::unique_lock lock(spares_mutex_);
  ++resting_;
  spare_is_called_.wait(lock, [this] { return called_ > 0 || spares_end_; });
  --resting_;
  if (called_ == 0) return false;
  --called_;
  return true;
}

}  // namespace troupe::detail
