#pragma once

#include "operations/array_view.hpp"

#include <troupe/tensor/tensor.hpp>

#include <functional>

namespace troupe::python {

/// The arrays of a set of frozen tensors that a program has bound. `table` holds their positions in
/// shared memory, so every worker finds the set, replaced or not. The arrays are made once for each
/// table. Throws the exceptions of `make`, and ValueError for a tensor that is not a table.
[[nodiscard]] nb::object bound_views(const any_tensor& table, PyObject* kind,
                                     const std::function<nb::object(const array_view&)>& make);

}  // namespace troupe::python
