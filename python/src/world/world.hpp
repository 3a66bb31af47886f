#pragma once

#include "device/device_handle.hpp"

#include <troupe/device/world_config.hpp>

#include <nanobind/nanobind.h>

namespace troupe::python {

namespace nb = nanobind;

/// The Python object for a world of devices, which are `Device` objects; world.cpp.
[[nodiscard]] nb::object make_world(const system_ref& system, nb::handle devices,
                                    const world_config& config);
/// How its devices reach each other's memory: {(reader, owner): DeviceLink}.
[[nodiscard]] nb::dict topology_of(system& s);

}  // namespace troupe::python
