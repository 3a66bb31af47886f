#pragma once

#include "device/device_handle.hpp"

#include <troupe/device/world.hpp>
#include <troupe/device/world_config.hpp>

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace troupe::python {

namespace nb = nanobind;

/// A world, and the devices that it needs.
struct world_handle {
  troupe::world all;
  std::vector<device_ref> devices;

  /// The world, for a request that comes after all requests of its devices queued so far.
  [[nodiscard]] troupe::world& in_order() {
    for (const device_ref& one : devices)
      (void)one->in_order();
    return all;
  }
};
using world_ref = std::shared_ptr<world_handle>;

struct py_world {
  world_ref handle;
};

/// The Python object for a world of devices, which are `Device` objects; world.cpp.
[[nodiscard]] nb::object make_world(const system_ref& system, nb::handle devices,
                                    const world_config& config);
/// How its devices reach each other's memory: {(reader, owner): DeviceLink}.
[[nodiscard]] nb::dict topology_of(system& s);

}  // namespace troupe::python
