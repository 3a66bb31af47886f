#pragma once

#include <troupe/device/device.hpp>
#include <troupe/telemetry/snapshot.hpp>

#include <nanobind/nanobind.h>

/// The state of a device at one moment, as objects of Python whose fields are attributes.
namespace troupe::python {

/// A `Snapshot` with these fields.
[[nodiscard]] nanobind::object snapshot_of(nanobind::dict fields);

[[nodiscard]] nanobind::object snapshot_of(const device_health& h);
[[nodiscard]] nanobind::object snapshot_of(const device_statistics& s);
[[nodiscard]] nanobind::object snapshot_of(const device_description& h);

/// As their JSON has them.
[[nodiscard]] nanobind::object snapshot_of(const telemetry_snapshot& s);
[[nodiscard]] nanobind::object snapshot_of(const device_telemetry& d);

}  // namespace troupe::python
