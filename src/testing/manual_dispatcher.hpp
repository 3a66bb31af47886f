#pragma once

#include "core/actor/actor_cell.hpp"
#include "core/dispatch/turn_dispatcher.hpp"
#include "os/stack.hpp"

#include <cstddef>
#include <deque>

namespace troupe::testing {

/// Runs an actor on request, on the calling thread. For one thread.
class manual_dispatcher : public detail::turn_dispatcher {
 public:
  void enqueue(detail::actor_cell& cell) noexcept override { ready_.push_back(&cell); }

  /// Lets one ready actor take a turn; false if there is none.
  bool step() noexcept {
    while (!ready_.empty()) {
      const auto chosen = ready_.begin() + static_cast<std::ptrdiff_t>(choose(ready_));
      detail::actor_cell& cell = **chosen;
      ready_.erase(chosen);
      if (!cell.claim_ticket()) continue;
      cell.run(detail::turn_limits{.messages = 1});
      return true;
    }
    return false;
  }

  void help(detail::actor_cell& cell, const future_state_base& state,
            future_state_base::time_point deadline) noexcept override {
    // There is no other thread to leave a long chain of waiting turns to.
    if (os::half_of_stack_is_used()) {
      cell.messages().give_up(
          state, {.code = errc::no_reply,
                  .message = "the test kit's only stack is half full of turns that wait"});
    }
    while (!state.ready() && step()) {
    }
    if (!state.ready()) state.park_until(deadline);
  }

  bool await_capacity(detail::actor_cell& cell, const detail::message&) noexcept override {
    return !cell.dead() && step();
  }

  [[nodiscard]] bool runs_everything() const noexcept override { return true; }
  void join() noexcept override {}

 protected:
  /// Chooses the next of at least one actor, in the order in which they became ready.
  virtual std::size_t choose(const std::deque<detail::actor_cell*>& ready) noexcept = 0;

 private:
  std::deque<detail::actor_cell*> ready_;
};

}  // namespace troupe::testing
