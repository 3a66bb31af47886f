#pragma once

#include "binding.hpp"

#include <troupe/elementwise/function.hpp>

#include <optional>
#include <vector>

namespace troupe::python {

/// A value of the function that is being traced; of Python's class `Expression`.
struct py_expression {
  elementwise::value value;
};
/// A pair of them; of class `Complex`.
struct py_complex {
  elementwise::complex_value value;
};

/// Calls `f`; a `failure` becomes its Python exception.
template <class F>
auto with_failures(F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const failure& why) {
    raise(why.error());
  }
}

/// An expression, or a number as a constant; nothing for anything else.
[[nodiscard]] std::optional<elementwise::value> value_from(nb::handle object);
/// A number, complex ones too; nothing for anything else.
[[nodiscard]] std::optional<elementwise::result_value> number_from(nb::handle object);
/// The result of a lambda: an expression, a number, a complex one, or a tuple of these. Throws
/// TypeError.
[[nodiscard]] std::vector<elementwise::result_value> results_from(nb::handle object);
/// One of them as the Python object for it.
[[nodiscard]] nb::object object_of(const elementwise::result_value& one);

}  // namespace troupe::python
