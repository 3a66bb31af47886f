#pragma once

#include "device/device_handle.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>

namespace troupe::python {

namespace nb = nanobind;

/// The Python object for a world of devices, which are `Device` objects; world.cpp.
[[nodiscard]] nb::object make_world(const system_ref& system, nb::handle devices,
                                    std::int64_t staging_bytes);
/// How its devices reach each other's memory: {(reader, owner): DeviceLink}.
[[nodiscard]] nb::dict topology_of(system& s);

}  // namespace troupe::python
