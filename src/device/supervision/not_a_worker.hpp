#pragma once

#include <troupe/base/error.hpp>

#include <optional>

namespace troupe {

/// Why this process may not make a device: it was started as a worker and has not become one. Its
/// device would start it again, and so on without end. Tells the program that has started it, too.
[[nodiscard]] std::optional<error> not_a_worker();

}  // namespace troupe
