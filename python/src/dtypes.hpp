#pragma once

#include <troupe/tensor/dtype.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string_view>

namespace troupe::python {

namespace nb = nanobind;

/// The element type that a Python object names: "f32", "float32" or "f4", a NumPy type, a torch
/// type. Throws TypeError with the list.
[[nodiscard]] dtype dtype_from(nb::handle type);
/// NumPy's name, such as "float32"; ml_dtypes' for those that NumPy lacks.
[[nodiscard]] std::string_view numpy_name(dtype type) noexcept;
/// The code of DLPack.
[[nodiscard]] nb::dlpack::dtype dlpack_of(dtype type) noexcept;
/// The format character of the buffer protocol; of a type without one, that of its bits.
[[nodiscard]] const char* buffer_format(dtype type) noexcept;

}  // namespace troupe::python
