#pragma once

#include "operations/array_view.hpp"

#include <troupe/tensor/tensor.hpp>

#include <functional>

namespace troupe::python {

/// The arrays of a set of frozen tensors that a program has bound. `table` says where they lie: it
/// is memory that both have, so the set is there in every worker, whichever was replaced. Arrays
/// are made once for each table. Throws what `make` throws, and ValueError for what is no table.
[[nodiscard]] nb::object bound_views(const any_tensor& table, PyObject* kind,
                                     const std::function<nb::object(const array_view&)>& make);

}  // namespace troupe::python
