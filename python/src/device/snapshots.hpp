#pragma once

#include <troupe/device/device.hpp>

#include <nanobind/nanobind.h>

#include <string_view>

/// The state of a device at one moment, as objects of Python whose fields are attributes.
namespace troupe::python {

[[nodiscard]] std::string_view name_of(device_state s) noexcept;

/// A `Snapshot` with these fields.
[[nodiscard]] nanobind::object snapshot_of(nanobind::dict fields);

[[nodiscard]] nanobind::object snapshot_of(const device_health& h);
[[nodiscard]] nanobind::object snapshot_of(const device_statistics& s);
[[nodiscard]] nanobind::object snapshot_of(const device_description& h);

}  // namespace troupe::python
