#pragma once

#include "actor_events.hpp"
#include "actor_scenario.hpp"

namespace troupe::model {

/// What the runtime's own actors do, on one thread and with a clock that stands still until it is
/// moved; nothing of them is replaced but who gives them turns.
[[nodiscard]] trace run_runtime(const scenario& s);

}  // namespace troupe::model
