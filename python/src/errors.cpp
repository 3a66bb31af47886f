#include "binding.hpp"

#include <string>

namespace troupe::python {
namespace {

nb::str text(std::string_view s) {
  // A vendor's or a plugin's text may be anything.
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace"));
}

}  // namespace

nb::object exception_for(const error& e) {
  const nb::object cause = e.cause ? exception_for(*e.cause) : nb::none();
  return nb::module_::import_("troupe.errors")
      .attr("failure_from")(text(to_string(e.code)), text(e.to_string()), text(e.message),
                            text(e.request), text(e.library), text(e.call), text(e.code_name),
                            e.vendor_code, e.device, e.generation, cause);
}

void raise(const error& e) {
  const nb::object exception = exception_for(e);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

}  // namespace troupe::python
