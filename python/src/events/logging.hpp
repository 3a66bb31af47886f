#pragma once

#include <troupe/core/log.hpp>

namespace troupe::python {

/// Passes a system's log entries to the logger `troupe` (`troupe.errors.log`).
[[nodiscard]] log_hook log_to_python();

}  // namespace troupe::python
