#include "core/actor/actor_cell.hpp"
#include "core/system_core.hpp"

#include <sched.h>

#include <utility>

// Messages that wait for capacity without a thread. Only the receiver admits them, at the end of a
// turn, and the thread that adds one schedules a turn; so none is forgotten, and their order is
// kept.
namespace troupe::detail {

void actor_cell::post_when_possible(message& m, promise<void> placed) noexcept {
  const bool decided_at_once = mailbox_.options().when_full == overflow::drop_oldest ||
                               !mailbox_.could_ever_hold(m) || dead();
  if (decided_at_once) {
    if (post_message(m)) return placed.set_value();
    return placed.set_error(dead() ? stopped_error() : full_error());
  }
  if (sends_waiting_.load(std::memory_order_relaxed) == 0 && mailbox_.push(m).accepted) {
    wake(false);
    return placed.set_value();
  }
  {
    const std::lock_guard lock(tree_mutex_);
    sends_.push_back({&m, std::move(placed)});
    sends_waiting_.fetch_add(1, std::memory_order_relaxed);
  }
  post_call([](actor_cell& c) { c.admit_sends(); });
}

void actor_cell::admit_sends() noexcept {
  mailbox_.publish_capacity();
  std::vector<waiting_send> in;
  std::vector<waiting_send> refused;
  {
    const std::lock_guard lock(tree_mutex_);
    if (phase_ == phase::stopped) {
      refused = std::exchange(sends_, {});
    } else {
      auto next = sends_.begin();
      while (next != sends_.end()) {
        if (mailbox_.push(*next->m).accepted) {
          in.push_back(std::move(*next++));
        } else if (mailbox_.empty()) {
          ::sched_yield();  // a failed reservation will give back the needed capacity
        } else {
          break;
        }
      }
      sends_.erase(sends_.begin(), next);
    }
    sends_waiting_.fetch_sub(static_cast<std::uint32_t>(in.size() + refused.size()),
                             std::memory_order_relaxed);
  }
  for (waiting_send& one : in)
    one.placed.set_value();
  for (waiting_send& one : refused) {
    refuse(*one.m, errc::actor_stopped);
    one.placed.set_error(stopped_error());
  }
}

}  // namespace troupe::detail
