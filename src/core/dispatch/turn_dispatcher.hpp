#pragma once

#include <troupe/core/future_state.hpp>

#include <cstdint>

namespace troupe::detail {

class actor_cell;
struct message;

/// Runs the turns of actors.
class turn_dispatcher {
 public:
  turn_dispatcher() = default;
  turn_dispatcher(const turn_dispatcher&) = delete;
  turn_dispatcher& operator=(const turn_dispatcher&) = delete;
  virtual ~turn_dispatcher() = default;

  /// The cell has become ready and is in no queue. Runs it later through `run_ticket`.
  virtual void enqueue(actor_cell& cell) noexcept = 0;

  /// A thread waits for an answer of the cell.
  virtual void help(actor_cell& cell, const future_state_base& state,
                    future_state_base::time_point deadline) noexcept = 0;

  /// A sender waits for capacity in the cell's mailbox. False if there will be none.
  virtual bool await_capacity(actor_cell& cell, const message& m) noexcept = 0;

  /// The cell has stopped; a thread that ran nothing else may end.
  virtual void cell_stopped() noexcept {}

  /// Also runs the actors that ask for a thread of their own (a test kit's dispatcher does).
  [[nodiscard]] virtual bool runs_everything() const noexcept { return false; }

  /// True on one of its threads.
  [[nodiscard]] virtual bool has_this_thread() const noexcept { return false; }

  /// Ends the threads. Nothing is ready any more. Precondition: `!has_this_thread()`.
  virtual void join() noexcept = 0;
};

/// The limits of a turn.
struct turn_limits {
  std::int32_t messages;
  const future_state_base* until = nullptr;  ///< ends the turn once ready
  /// Called while the actor has nothing to do: false keeps the turn open for a moment more.
  bool (*others_ready)() noexcept = nullptr;
};

}  // namespace troupe::detail
