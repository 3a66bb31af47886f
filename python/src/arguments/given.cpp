#include "arguments/given.hpp"

#include <nanobind/stl/string.h>

namespace troupe::python {

std::string short_text(nb::handle value) {
  std::string text = nb::cast<std::string>(nb::repr(value));
  constexpr std::size_t most = 80;
  if (text.size() > most) text = text.substr(0, most - 1) + "…";
  return text;
}

void refuse_given(std::string_view what, std::string_view must, nb::handle value) {
  const std::string message =
      std::string(what) + " must be " + std::string(must) + "; it is " + short_text(value);
  throw nb::type_error(message.c_str());
}

std::optional<std::int64_t> integer_from(nb::handle value) {
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) {
    PyErr_Clear();
    return std::nullopt;
  }
  const std::int64_t number = PyLong_AsLongLong(index.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return number;
}

std::vector<std::int64_t> integers_given(std::string_view what, nb::handle sequence) {
  constexpr std::string_view must = "a sequence of integers";
  const nb::object items = nb::steal(PySequence_Fast(sequence.ptr(), ""));
  if (!items.is_valid()) {
    PyErr_Clear();
    refuse_given(what, must, sequence);
  }
  std::vector<std::int64_t> all;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); ++i) {
    const auto one = integer_from(PySequence_Fast_GET_ITEM(items.ptr(), i));
    if (!one) refuse_given(what, must, sequence);
    all.push_back(*one);
  }
  return all;
}

std::vector<std::int64_t> integers_given(std::string_view what, const nb::args& arguments) {
  if (arguments.size() == 1) {
    const nb::object only = arguments[0];
    if (!integer_from(only)) return integers_given(what, only);
  }
  return integers_given(what, nb::handle(arguments));
}

}  // namespace troupe::python
