#pragma once

#include "binding.hpp"

#include <troupe/core/log.hpp>
#include <troupe/device/events.hpp>

#include <vector>

namespace troupe::python {

/// Passes a system's log entries to the logger `troupe` (troupe/logs.py).
[[nodiscard]] log_hook log_to_python();

/// The events as a list of namespaces.
[[nodiscard]] nb::list events_for_python(const std::vector<device_event>& events);

}  // namespace troupe::python
