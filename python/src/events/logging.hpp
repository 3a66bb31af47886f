#pragma once

#include <troupe/core/log.hpp>
#include <troupe/core/system.hpp>

#include <nanobind/nanobind.h>

namespace troupe::python {

/// Passes a system's log entries to the logger `troupe` (`troupe.methods.logs`).
[[nodiscard]] log_hook log_to_python();
/// The events of all devices, as a list of objects.
[[nodiscard]] nanobind::list events_of(const system& s);

}  // namespace troupe::python
