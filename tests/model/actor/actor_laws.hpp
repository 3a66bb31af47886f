#pragma once

#include "actor_events.hpp"

#include <string>

namespace troupe::model {

/// What holds of every trace whatever the schedule, said without the model, so that nothing that
/// the two have wrong in common goes unseen:
///
///  - every ask is answered once;
///  - of an actor there is one incarnation at a time, one that began ends, and only that handles;
///  - who has stopped does nothing any more, and is told of after that only;
///  - an incarnation ends after those of its children.
///
/// Nothing where they hold of a whole trace; else what broke one.
[[nodiscard]] std::string broken_law(const trace& events);

}  // namespace troupe::model
