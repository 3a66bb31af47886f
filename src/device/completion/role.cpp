// The role: who holds it, who waits for it, and how its holder waits.
#include "device/completion/role.hpp"

#include "base/spin_wait.hpp"
#include "core/dispatch/deferred_continuations.hpp"
#include "device/completion/reactor.hpp"
#include "os/futex.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

using clock = std::chrono::steady_clock;

bool passed(clock::time_point deadline) noexcept {
  return deadline != clock::time_point::max() && clock::now() >= deadline;
}

}  // namespace

role::role(reactor& of) noexcept {
  if (of.has_role()) return;
  (void)of.take_role_until(clock::time_point::max());
  gives_up_ = &of;
}

std::optional<role> role::try_take(reactor& of) noexcept {
  if (!of.try_take_role()) return std::nullopt;
  return role(of, taken::already);
}

void role::give_up() noexcept { gives_up_->leave_role(*this); }

bool reactor::try_take_role() noexcept {
  if (owner_.load(std::memory_order_relaxed) != nullptr) return false;
  detail::deferred_continuations& mine = detail::deferred_continuations::mine();
  if (!make_owner(mine)) return false;
  mine.hold();
  return true;
}

bool reactor::make_owner(const detail::deferred_continuations& thread) noexcept {
  const detail::deferred_continuations* nobody = nullptr;
  return owner_.compare_exchange_strong(nobody, &thread, std::memory_order_acquire,
                                        std::memory_order_relaxed);
}

bool reactor::has_role() const noexcept {
  return owner_.load(std::memory_order_relaxed) == &detail::deferred_continuations::mine();
}

bool reactor::take_role_until(clock::time_point deadline) noexcept {
  wanted_.fetch_add(1, std::memory_order_seq_cst);
  detail::yielding_wait wait;
  bool taken = try_take_role();
  while (!taken && !passed(deadline)) {
    // The holder may be sleeping on its bell.
    wire::doorbells& bells = requests_.active_bells();
    bells.completion.fetch_add(1, std::memory_order_release);
    os::futex_wake(bells.completion, 1, os::sharing::processes);
    wait.step();
    taken = try_take_role();
  }
  wanted_.fetch_sub(1, std::memory_order_relaxed);
  return taken;
}

void reactor::try_poll() {
  if (has_role()) {
    poll(role(*this));
  } else if (const auto held = role::try_take(*this)) {
    poll(*held);
  }
}

// A thread that counts answers holds the role until they are given.
bool reactor::settle_answers(clock::time_point deadline) noexcept {
  if (has_role()) return true;
  if (!take_role_until(deadline)) return false;
  const role given_up_at_once(*this, role::taken::already);
  return true;
}

void reactor::leave_role(const role& held) noexcept {
  detail::deferred_continuations& mine = detail::deferred_continuations::mine();
  do {
    bool announced = false;
    if (wanted_promptly()) {
      walk(held);  // their requests may be newer than the last walk
      announced = walk_.in_flight_count() > 0;
    }
    if (announced) {
      set_waits(wire::wait_lazy | wire::wait_prompt);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      poll(held);
    }
    const bool nothing = walk_.in_flight_count() == 0;
    const std::uint64_t next = walk_.next_ticket();
    owner_.store(nullptr, std::memory_order_release);
    // A waiter counts itself and then checks for a driver; this thread stops driving and then
    // checks for waiters. At least one of the two sees the other.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (announced || !wanted_promptly()) break;
    if (nothing && requests_.entry(next) == 0) break;  // they wait for something else
  } while (make_owner(mine));
  mine.release();
}

void reactor::set_waits(std::uint32_t bits) noexcept {
  epoch_ += wire::wait_epoch;
  requests_.waits().store(epoch_ | bits, std::memory_order_relaxed);
}

bool reactor::announce_sleep(const role& held) {
  const bool prompt = wanted_promptly() && walk_.in_flight_count() > 0;
  set_waits(prompt ? wire::wait_lazy | wire::wait_prompt : wire::wait_lazy);
  // Announce before the last look at the marks; the worker stores a mark before it reads the
  // announcement.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return !poll(held);
}

void reactor::continuation_attached() noexcept {
  if (prompt_.exchange(true, std::memory_order_seq_cst)) return;
  // A thread that drives sees the flag when it stops. If none drives, the device thread sleeps with
  // an announcement that is not prompt.
  if (owner_.load(std::memory_order_seq_cst) == nullptr) device_.ring();
}

void reactor::drive_until(const future_state_base& state, clock::time_point deadline) noexcept {
  if (is_copy()) [[unlikely]]
    return copy_.fail_all();
  detail::spin_wait spin(spins_, 1);
  detail::yielding_wait wait;
  while (!state.ready()) {
    if (wanted_.load(std::memory_order_relaxed) == 0) {
      if (auto held = role::try_take(*this)) {
        const bool done = drive(*held, state, deadline);
        held.reset();
        if (done || passed(deadline)) return;
        continue;
      }
    }
    if (spin.step()) continue;
    if (passed(deadline)) return;
    // Another thread drives and completes this state too. When it stops, it leaves the rest to the
    // device thread, because this thread has counted itself.
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    if (owner_.load(std::memory_order_seq_cst) != nullptr) {
      state.park_until(std::min(deadline, clock::now() + std::chrono::milliseconds(50)));
    } else {
      wait.step();  // a thread that wants the role may need this processor
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }
}

// True once the state is ready; false if another thread or a continuation needs the role, or the
// deadline has passed.
bool reactor::drive(const role& held, const future_state_base& state, clock::time_point deadline) {
  const detail::deferred_continuations& mine = detail::deferred_continuations::mine();
  detail::spin_wait spin(spins_, 1);
  for (;;) {
    const bool progress = poll(held);
    if (state.ready()) return true;
    if (mine.has_put_off() || wanted_.load(std::memory_order_relaxed) != 0) return false;
    if (progress) spin = detail::spin_wait(spins_, 1);
    if (spin.step()) continue;
    if (passed(deadline)) return false;

    wire::doorbells& bells = requests_.bells(walk_.worker());
    const std::uint32_t seen = bells.completion.load(std::memory_order_acquire);
    set_waits(wire::wait_lazy | wire::wait_thread);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!poll(held) && wanted_.load(std::memory_order_seq_cst) == 0) {
      // Another thread may complete the state too, such as a continuation of a completion.
      if (const auto incomplete = state.announce_sleeper()) {
        os::futex_wait_either({bells.completion, seen, os::sharing::processes},
                              {state.word(), *incomplete, os::sharing::program}, deadline);
      }
    }
    set_waits(wire::wait_lazy);
    spin = detail::spin_wait(spins_, 1);
  }
}

}  // namespace troupe
