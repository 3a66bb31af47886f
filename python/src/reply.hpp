#pragma once

#include <troupe/request/any_request.hpp>

#include <nanobind/nanobind.h>

namespace troupe::python {

namespace nb = nanobind;

[[nodiscard]] nb::object object_of_scalar(const scalar& value);
/// A number, or for a described reply an object with its fields as attributes.
[[nodiscard]] nb::object object_of_reply(const any_reply& reply);

}  // namespace troupe::python
