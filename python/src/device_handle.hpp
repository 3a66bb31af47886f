#pragma once

#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>

#include <nanobind/nanobind.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace troupe::python {

/// A system and what ends with it. Destroyed without the GIL, because its threads may wait for it.
struct system_handle {
  explicit system_handle(const system_config& config) : system(config) {}
  troupe::system system;
  std::mutex mutex;  // guards the devices
  std::map<std::int32_t, troupe::device> devices;
};
using system_ref = std::shared_ptr<system_handle>;
[[nodiscard]] system_ref make_system(const system_config& config);

/// A device, and the system that it needs: both live as long as anything refers to them.
struct device_handle {
  device_handle(system_ref s, troupe::device d) : system(std::move(s)), device(std::move(d)) {}
  system_ref system;
  troupe::device device;
};
using device_ref = std::shared_ptr<device_handle>;

/// The Python object for a device; device.cpp.
[[nodiscard]] nanobind::object make_device(const device_ref& handle);
/// Spawns a top-level actor; `make` is called with the actor's context for each incarnation, and
/// answers the Python object. `options`: the keywords of `troupe.System.spawn`; actor.cpp.
[[nodiscard]] nanobind::object spawn_at_root(const system_ref& system, nanobind::handle make,
                                             nanobind::handle options);

}  // namespace troupe::python
