#pragma once

#include <troupe/core/timer_service.hpp>

#include <memory>

namespace troupe::detail {

class actor_cell;

/// What the current thread is doing for an actor system; all null outside of a turn.
struct ambient_turn {
  actor_cell* cell = nullptr;
  const std::shared_ptr<timer_service>* timers = nullptr;
};

extern constinit thread_local ambient_turn ambient;

}  // namespace troupe::detail
