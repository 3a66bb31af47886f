#pragma once

#include "core/future/failure_reason.hpp"

#include <troupe/core/timer_service.hpp>

#include <memory>

namespace troupe::detail {

class actor_cell;

/// The current thread's work for an actor system; all null outside of a turn.
struct ambient_turn {
  actor_cell* cell = nullptr;
  const std::shared_ptr<timer_service>* timers = nullptr;
  /// Set while the cell's incarnation is destroyed, with the promises that it holds: the reason.
  /// Null if it was told to stop.
  const failure_reason* ending = nullptr;
};

extern constinit thread_local ambient_turn ambient;

}  // namespace troupe::detail
