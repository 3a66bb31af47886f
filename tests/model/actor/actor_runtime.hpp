#pragma once

#include "actor_events.hpp"
#include "actor_scenario.hpp"

namespace troupe::model {

/// Runs the runtime's own actors, on one thread and with a clock that stands still until it is
/// moved; only the source of their turns is replaced.
[[nodiscard]] trace run_runtime(const scenario& s);

}  // namespace troupe::model
