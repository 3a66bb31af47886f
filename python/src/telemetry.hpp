#pragma once

#include "device/device_handle.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

namespace troupe::python {

/// Adds its class to the module.
void add_telemetry(nanobind::module_& m);
/// Shows the system over HTTP: the object for `System.telemetry`.
[[nodiscard]] nanobind::object serve_telemetry(const system_ref& system, std::uint16_t port,
                                               std::string address, std::string token, bool socket,
                                               double fresh, double grace);

}  // namespace troupe::python
