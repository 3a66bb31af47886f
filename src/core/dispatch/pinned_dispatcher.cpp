#include "core/dispatch/pinned_dispatcher.hpp"

#include "base/spin_wait.hpp"
#include "core/actor/actor_cell.hpp"
#include "core/dispatch/deferred_continuations.hpp"
#include "os/futex.hpp"
#include "os/thread.hpp"

#include <troupe/base/error.hpp>

#include <algorithm>
#include <system_error>

namespace troupe::detail {
namespace {

bool nobody_else() noexcept { return false; }

}  // namespace

// Started here, where a failure can be reported: an actor that is due for its turn cannot wait for
// another thread.
pinned_dispatcher::pinned_dispatcher(std::int32_t throughput)
    : throughput_(std::max(throughput, 1)) {
  try {
    thread_ = os::start_thread([this] { serve(); });
  } catch (const std::system_error& none) {
    throw failure(system_failure("pthread_create", none.code().value(),
                                 "the thread of a pinned actor cannot be started"));
  }
}

void pinned_dispatcher::enqueue(actor_cell& cell) noexcept {
  ready_.store(&cell, std::memory_order_seq_cst);
  wake();
}

void pinned_dispatcher::wake() noexcept {
  changes_.fetch_add(1, std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_seq_cst)) os::futex_wake(changes_, 1, os::sharing::program);
}

void pinned_dispatcher::help(actor_cell&, const future_state_base& state,
                             future_state_base::time_point deadline) noexcept {
  state.spin_until(deadline);
}

bool pinned_dispatcher::await_capacity(actor_cell& cell, const message& m) noexcept {
  if (cell.dead()) return false;
  const deferred_continuations::waiting here(deferred_continuations::mine());
  cell.messages().await_capacity(m);
  return true;
}

void pinned_dispatcher::cell_stopped() noexcept {
  stopping_.store(true, std::memory_order_seq_cst);
  wake();
}

void pinned_dispatcher::serve() noexcept {
  spin_budget budget;
  for (;;) {
    spin_wait spin(budget.current());
    actor_cell* cell = nullptr;
    while ((cell = ready_.exchange(nullptr, std::memory_order_acq_rel)) == nullptr) {
      if (stopping_) {
        finished_ = true;
        return;
      }
      if (spin.step()) continue;
      budget.spinning_was_in_vain();
      const std::uint32_t seen = changes_.load(std::memory_order_seq_cst);
      parked_.store(true, std::memory_order_seq_cst);
      if (ready_.load(std::memory_order_seq_cst) == nullptr &&
          !stopping_.load(std::memory_order_seq_cst)) {
        os::futex_wait(changes_, seen, std::chrono::steady_clock::time_point::max(),
                       os::sharing::program);
      }
      parked_.store(false, std::memory_order_seq_cst);
    }
    budget.spinning_was_enough();
    if (cell->claim_ticket()) {
      cell->run(turn_limits{.messages = throughput_, .others_ready = &nobody_else});
    }
  }
}

bool pinned_dispatcher::has_this_thread() const noexcept {
  return thread_.get_id() == std::this_thread::get_id();
}

void pinned_dispatcher::join() noexcept {
  if (thread_.joinable()) thread_.join();
}

bool pinned_dispatcher::join_if_finished() noexcept {
  if (!finished_) return false;
  join();
  return true;
}

}  // namespace troupe::detail
