#pragma once

#include <troupe/device/request_tracer.hpp>

#include <nanobind/nanobind.h>

#include <memory>

namespace troupe::python {

/// The tracer of a `troupe.profile()`; null for any other object.
[[nodiscard]] std::shared_ptr<request_tracer> profile_tracer_of(nanobind::handle object);

}  // namespace troupe::python
