#pragma once

#include "actor_events.hpp"

#include <string>

namespace troupe::model {

/// The laws of every trace for any schedule, stated without the model, so that errors that the two
/// have in common are found:
///
///  - every ask is answered once;
///  - an actor has one incarnation at a time, one that began ends, and only that handles;
///  - a stopped actor does nothing any more, and is reported only after that;
///  - an incarnation ends after those of its children.
///
/// Nothing if they hold for a whole trace; else the violation.
[[nodiscard]] std::string broken_law(const trace& events);

}  // namespace troupe::model
