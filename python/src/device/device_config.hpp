#pragma once

#include <troupe/device/config.hpp>

#include <nanobind/nanobind.h>

namespace troupe::python {

/// The configuration with the options given by keyword. An unknown one is reported, with the
/// existing ones.
[[nodiscard]] device_config config_from(nanobind::kwargs options);
/// Has the device run operations of Python: in workers that a fork server starts, or in this
/// program.
void give_operations(device_config& c, nanobind::handle options);

}  // namespace troupe::python
