#pragma once

#include "device/device_handle.hpp"

#include <nanobind/nanobind.h>

#include <string_view>

namespace troupe::python {

namespace nb = nanobind;

/// The callable for one request on one library's actor: `gpu.blas.gemm`.
[[nodiscard]] nb::object make_operation(const device_ref& device, const library_actor& actor,
                                        const request_type& type);

}  // namespace troupe::python
