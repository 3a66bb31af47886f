#pragma once

#include <troupe/device/device.hpp>
#include <troupe/device/mapped_tensor.hpp>

#include <nanobind/nanobind.h>

#include <memory>

namespace troupe::python {

namespace nb = nanobind;

/// A device with the system that it needs, shared by all that refers to it.
struct device_handle;

/// A view, and the device that serves it.
struct py_tensor {
  any_tensor view;
  std::shared_ptr<device_handle> device;
};

/// A tensor that the program uses in place.
struct py_mapped_tensor {
  py_mapped_tensor(mapped_tensor m, const py_tensor& of);
  mapped_tensor mapped;
  bool on_gpu = false;
  int ordinal = 0;  ///< the GPU's
};

[[nodiscard]] shape shape_from(nb::handle extents);
[[nodiscard]] nb::tuple tuple_of(std::span<const std::int64_t> all);
/// The elements at `address` as a NumPy array that keeps `owner`.
[[nodiscard]] nb::object numpy_in_place(nb::handle owner, const any_tensor& view, void* address);

}  // namespace troupe::python
