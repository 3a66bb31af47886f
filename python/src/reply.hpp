#pragma once

#include <troupe/device/request_graph.hpp>
#include <troupe/request/any_request.hpp>
#include <troupe/request/fields.hpp>

#include <nanobind/nanobind.h>

namespace troupe::python {

namespace nb = nanobind;

[[nodiscard]] nb::object object_of_scalar(const scalar& value);
/// The value of a field that is no tensor.
[[nodiscard]] nb::object object_of_value(const field_view& field, const void* of);
/// A number, or for a described reply an object with its fields as attributes.
[[nodiscard]] nb::object object_of_reply(const any_reply& reply);
/// graph/graph.cpp
[[nodiscard]] nb::object object_of_replies(graph_replies replies);

}  // namespace troupe::python
