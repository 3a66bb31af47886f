#include "core/dispatch/pool_dispatcher.hpp"

#include "core/actor/actor_cell.hpp"
#include "core/ambient.hpp"
#include "core/dispatch/pool_worker.hpp"
#include "os/futex.hpp"
#include "os/stack.hpp"
#include "os/thread.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <climits>
#include <new>
#include <system_error>
#include <utility>

namespace troupe::detail {

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

bool pool_dispatcher::has_this_thread() const noexcept {
  return current_worker != nullptr && current_worker->pool == this;
}

void pool_dispatcher::join() noexcept {
  ending_.store(true, std::memory_order_seq_cst);
  wakes_.fetch_add(1, std::memory_order_seq_cst);
  os::futex_wake(wakes_, INT_MAX, os::sharing::program);
  for (auto& w : workers_) {
    if (w->thread.joinable()) w->thread.join();
  }
  // The remaining work of spare threads may start more of them.
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
    // This thread comes to it before another would be awake, or a watching thread notices that it
    // does not.
    if (older == nullptr && watched_.load(std::memory_order_seq_cst)) return;
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
  const std::int32_t handled = cell.run({.messages = me.left, .others_ready = &others_ready});
  me.left -= std::max(1, handled);
}

actor_cell* pool_dispatcher::next_for(worker& me) noexcept {
  // Work from the slot shares one turn's message budget: otherwise two actors could keep each other
  // busy for ever.
  if (me.left <= 0) {
    me.left = throughput_;
    if (actor_cell* cell = pop()) return cell;
  }
  if (me.next.load(std::memory_order_relaxed) != nullptr) {
    if (actor_cell* cell = me.next.exchange(nullptr, std::memory_order_seq_cst)) return cell;
  }
  me.left = throughput_;
  return pop();
}

void pool_dispatcher::serve(worker& me) noexcept {
  current_worker = &me;
  deferred_continuations::mine().work_with(this);
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

void pool_dispatcher::help(actor_cell& cell, const future_state_base& state,
                           future_state_base::time_point deadline) noexcept {
  // A handler may run for longer than the caller will wait, so only a patient caller helps.
  if (deadline != future_state_base::time_point::max() || ambient.cell == &cell) {
    state.spin_until(deadline);
    return;
  }
  constexpr std::chrono::microseconds timeout{40};
  spin_wait spin(timeout);
  do {
    // In a chain of actors that wait for one another, the stack is as deep as the chain is long.
    if (os::half_of_stack_is_used()) break;
    if (pop_if_first(cell) ? cell.claim_ticket() : cell.claim_scheduled()) {
      cell.run(turn_limits{.messages = throughput_, .until = &state});
      return;
    }
    if (state.ready()) return;
  } while (spin.step());
  state.park_until(deadline);
}

bool pool_dispatcher::await_capacity(actor_cell& cell, const message& m) noexcept {
  if (cell.dead()) return false;
  const deferred_continuations::waiting here(deferred_continuations::mine());
  // A worker that only waited might hold up the very actor it waits for.
  if (has_this_thread() && !os::half_of_stack_is_used() && cell.claim_scheduled()) {
    cell.run(turn_limits{.messages = throughput_});
  } else {
    const deferred_continuations::sleeping until_there_is_capacity;
    cell.messages().await_capacity(m);
  }
  return true;
}

}  // namespace troupe::detail
