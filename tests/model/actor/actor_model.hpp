#pragma once

#include "actor_events.hpp"
#include "actor_scenario.hpp"

namespace troupe::model {

/// The documented behaviour of an actor system: no threads, no memory orders, no queues between
/// threads; one `turn` at a time.
///
/// In a turn an actor obeys what the runtime has told it meanwhile, in that order, then handles one
/// message if it may, and obeys again. The next turn is drawn from the scenario's seed among the
/// actors that have something to do, in the order in which they were spawned.
[[nodiscard]] trace run_model(const scenario& s);

}  // namespace troupe::model
