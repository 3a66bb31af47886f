#include "core/pool_dispatcher.hpp"

#include "core/actor_cell.hpp"
#include "core/ambient.hpp"
#include "core/spin_wait.hpp"
#include "os/futex.hpp"
#include "os/thread.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <climits>
#include <new>
#include <system_error>
#include <utility>

namespace troupe::detail {

struct alignas(64) pool_dispatcher::worker {
  worker(pool_dispatcher& p, bool spare) noexcept : pool(&p), is_spare(spare) {}

  pool_dispatcher* pool;
  const bool is_spare;
  std::atomic<actor_cell*> next{nullptr};  ///< seq_cst: see the class
  std::atomic<std::uint64_t> turns{0};     ///< relaxed: only a hint for thieves
  std::int32_t from_slot = 0;
  int outrun = 0;  ///< how often in a row helping threads were faster
  spin_budget budget;
  std::vector<std::uint64_t> turn_seen;  ///< of each other worker, when last looked at
  std::thread thread;
};

thread_local pool_dispatcher::worker* pool_dispatcher::current_worker = nullptr;

void pool_dispatcher::short_lock::lock() noexcept {
  int tries = 0;
  while (held_.exchange(true, std::memory_order_acquire)) {
    while (held_.load(std::memory_order_relaxed)) {
      if (++tries > 64) ::sched_yield();  // the holder may have lost its processor
      pause_cpu();
    }
  }
}

pool_dispatcher::pool_dispatcher(std::int32_t threads, std::int32_t throughput)
    : throughput_(std::max(1, throughput)) {
  if (threads <= 0) threads = static_cast<std::int32_t>(std::thread::hardware_concurrency());
  threads = std::max(1, threads);
  for (std::int32_t i = 0; i < threads; ++i)
    workers_.push_back(std::make_unique<worker>(*this, false));
  for (auto& w : workers_)
    w->turn_seen.resize(workers_.size());
  awake_.store(threads, std::memory_order_relaxed);
  try {
    for (auto& w : workers_)
      w->thread = os::start_thread([this, &w] { serve(*w); });
  } catch (const std::system_error& none) {
    const auto made = std::ranges::count_if(workers_, [](auto& w) { return w->thread.joinable(); });
    join();
    throw failure({.code = errc::system_error,
                   .message = fmt::format("a pool of {} threads, of which {} could be started: {}",
                                          threads, made, none.code().message())});
  }
}

pool_dispatcher::~pool_dispatcher() = default;

void pool_dispatcher::join() noexcept {
  ending_.store(true, std::memory_order_seq_cst);
  wakes_.fetch_add(1, std::memory_order_seq_cst);
  os::futex_wake(wakes_, INT_MAX, os::sharing::program);
  for (auto& w : workers_) {
    if (w->thread.joinable()) w->thread.join();
  }
  // What is left for the spare ones may bring more of them.
  std::unique_lock lock(spares_mutex_);
  spares_end_ = true;
  spare_is_called_.notify_all();
  while (!spares_.empty()) {
    const std::unique_ptr<worker> one = std::move(spares_.back());
    spares_.pop_back();
    lock.unlock();
    one->thread.join();
    lock.lock();
  }
}

void pool_dispatcher::push(actor_cell& cell) noexcept {
  lock_.lock();
  cell.next_ready = nullptr;
  (last_ == nullptr ? first_ : last_->next_ready) = &cell;
  last_ = &cell;
  length_.store(length_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  lock_.unlock();
}

actor_cell* pool_dispatcher::pop() noexcept {
  if (length_.load(std::memory_order_seq_cst) == 0) return nullptr;
  lock_.lock();
  actor_cell* cell = first_;
  if (cell != nullptr) {
    first_ = cell->next_ready;
    if (first_ == nullptr) last_ = nullptr;
    length_.store(length_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }
  lock_.unlock();
  return cell;
}

bool pool_dispatcher::pop_if_first(actor_cell& cell) noexcept {
  if (length_.load(std::memory_order_relaxed) == 0) return false;
  lock_.lock();
  const bool first = first_ == &cell;
  if (first) {
    first_ = cell.next_ready;
    if (first_ == nullptr) last_ = nullptr;
    length_.store(length_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }
  lock_.unlock();
  return first;
}

void pool_dispatcher::notify() noexcept {
  if (spinning_.load(std::memory_order_seq_cst) != 0) return;
  if (parked_.load(std::memory_order_seq_cst) == 0) return;
  wakes_.fetch_add(1, std::memory_order_seq_cst);
  os::futex_wake(wakes_, 1, os::sharing::program);
}

void pool_dispatcher::enqueue(actor_cell& cell) noexcept {
  worker* me = current_worker;
  if (me != nullptr && me->pool == this && !me->is_spare) {
    actor_cell* older = me->next.exchange(&cell, std::memory_order_seq_cst);
    if (older != nullptr) push(*older);
  } else {
    push(cell);
  }
  notify();
}

bool pool_dispatcher::others_ready() noexcept {
  const worker& me = *current_worker;
  return me.next.load(std::memory_order_relaxed) != nullptr ||
         me.pool->length_.load(std::memory_order_relaxed) != 0;
}

void pool_dispatcher::run(worker& me, actor_cell& cell) noexcept {
  if (!cell.claim_ticket()) return;
  me.turns.fetch_add(1, std::memory_order_relaxed);
  cell.run(turn_limits{.messages = throughput_, .others_ready = &others_ready});
}

actor_cell* pool_dispatcher::next_for(worker& me) noexcept {
  // The slot alone could keep two actors busy with each other for ever.
  constexpr std::int32_t slot_turns = 32;
  if (me.from_slot >= slot_turns) {
    me.from_slot = 0;
    if (actor_cell* cell = pop()) return cell;
  }
  if (me.next.load(std::memory_order_relaxed) != nullptr) {
    if (actor_cell* cell = me.next.exchange(nullptr, std::memory_order_seq_cst)) {
      ++me.from_slot;
      return cell;
    }
  }
  me.from_slot = 0;
  return pop();
}

bool pool_dispatcher::any_work() const noexcept {
  if (length_.load(std::memory_order_seq_cst) != 0) return true;
  return std::any_of(workers_.begin(), workers_.end(), [](const auto& w) {
    return w->next.load(std::memory_order_seq_cst) != nullptr;
  });
}

// What the turn that is running made ready is best left to the same worker, so a thief takes it
// only if it finds the same turn there twice. It looks rarely: each look takes the line away from
// the worker.
actor_cell* pool_dispatcher::steal_for(worker& me) noexcept {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    worker& victim = *workers_[i];
    if (&victim == &me || victim.next.load(std::memory_order_relaxed) == nullptr) continue;
    const std::uint64_t turn = victim.turns.load(std::memory_order_relaxed);
    if (std::exchange(me.turn_seen[i], turn) != turn) continue;
    if (actor_cell* cell = victim.next.exchange(nullptr, std::memory_order_seq_cst)) return cell;
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
      // more often that happens the longer this one keeps its hands off, up to about 7 us.
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

actor_cell* pool_dispatcher::wait_for_work(worker& me) noexcept {
  spinning_.fetch_add(1, std::memory_order_seq_cst);
  actor_cell* found = spin_for_work(me);
  const bool was_last = spinning_.fetch_sub(1, std::memory_order_seq_cst) == 1;
  if (found != nullptr) {
    me.budget.spinning_was_enough();
    if (was_last && any_work()) notify();
    return found;
  }
  me.budget.spinning_was_in_vain();
  const std::uint32_t seen = wakes_.load(std::memory_order_seq_cst);
  parked_.fetch_add(1, std::memory_order_seq_cst);
  found = take_any();
  if (found == nullptr && !ending_.load(std::memory_order_seq_cst)) {
    os::futex_wait(wakes_, seen, std::chrono::steady_clock::time_point::max(),
                   os::sharing::program);
  }
  parked_.fetch_sub(1, std::memory_order_seq_cst);
  // What became ready together with it was left to this one, too.
  if (found != nullptr && any_work()) notify();
  return found;
}

void pool_dispatcher::serve(worker& me) noexcept {
  current_worker = &me;
  thread_duties::mine().work_with(this);
  for (;;) {
    if (me.is_spare && is_one_too_many() && !rest()) return;
    actor_cell* cell = next_for(me);
    if (cell == nullptr) cell = wait_for_work(me);
    if (cell != nullptr) {
      run(me, *cell);
    } else if (ending_.load(std::memory_order_seq_cst) && !any_work()) {
      return;
    }
  }
}

void pool_dispatcher::thread_sleeps() noexcept {
  // Nobody was told of what this one would have come to after its turn.
  if (any_work()) notify();
  if (awake_.fetch_sub(1, std::memory_order_seq_cst) > 1) return;
  awake_.fetch_add(1, std::memory_order_seq_cst);
  const std::lock_guard lock(spares_mutex_);
  if (resting_ > called_ && !spares_end_) {
    ++called_;
    return spare_is_called_.notify_one();
  }
  try {
    auto spare = std::make_unique<worker>(*this, true);
    spare->turn_seen.resize(workers_.size());
    spares_.push_back(std::move(spare));
  } catch (const std::bad_alloc&) {
    awake_.fetch_sub(1, std::memory_order_seq_cst);
    return;
  }
  worker& made = *spares_.back();
  try {
    made.thread = os::start_thread([this, &made] { serve(made); });
  } catch (const std::system_error&) {
    // As well as it can: the next one to fall asleep tries again, and whoever waits for room looks
    // again and again.
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

void pool_dispatcher::help(actor_cell& cell, const future_state_base& state,
                           future_state_base::time_point deadline) noexcept {
  // A handler may run for longer than the caller will wait, so only a patient caller helps.
  if (deadline != future_state_base::time_point::max() || ambient.cell == &cell) {
    state.spin_until(deadline);
    return;
  }
  constexpr std::chrono::microseconds patience{40};
  spin_wait spin(patience);
  do {
    if (pop_if_first(cell) ? cell.claim_ticket() : cell.claim_scheduled()) {
      cell.run(turn_limits{.messages = throughput_, .until = &state});
      return;
    }
    if (state.ready()) return;
  } while (spin.step());
  state.park_until(deadline);
}

bool pool_dispatcher::make_room(actor_cell& cell, const message& m) noexcept {
  if (cell.dead()) return false;
  // A worker that only waited might hold up the very actor it waits for.
  const bool on_the_pool = current_worker != nullptr && current_worker->pool == this;
  if (on_the_pool && cell.claim_scheduled()) {
    cell.run(turn_limits{.messages = throughput_});
  } else {
    const thread_duties::sleeping here;
    cell.messages().await_room(m);
  }
  return true;
}

}  // namespace troupe::detail
