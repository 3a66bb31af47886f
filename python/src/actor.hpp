#pragma once

#include "device_handle.hpp"

#include <nanobind/nanobind.h>

namespace troupe::python {

namespace nb = nanobind;

/// Spawns a top-level actor; `make` is called with the actor's context for each incarnation, and
/// answers the Python object. `options`: the keywords of `troupe.System.spawn`.
[[nodiscard]] nb::object spawn_at_root(const system_ref& system, nb::handle make,
                                       nb::handle options);

}  // namespace troupe::python
