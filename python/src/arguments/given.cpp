#include "arguments/given.hpp"

#include "binding.hpp"

namespace troupe::python {

namespace {

std::string bytes_of(const nb::object& encoded) {
  if (!encoded.is_valid()) throw nb::python_error();
  return {PyBytes_AS_STRING(encoded.ptr()),
          static_cast<std::size_t>(PyBytes_GET_SIZE(encoded.ptr()))};
}

}  // namespace

std::string shown_text(nb::handle value) {
  const nb::str text(value);
  return bytes_of(nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace")));
}

std::string text_given(std::string_view what, std::string_view must, nb::handle value) {
  if (!nb::isinstance<nb::str>(value)) refuse_given(what, must, value);
  Py_ssize_t size = 0;
  if (const char* const text = PyUnicode_AsUTF8AndSize(value.ptr(), &size)) {
    return {text, static_cast<std::size_t>(size)};
  }
  PyErr_Clear();
  throw nb::value_error(
      (std::string(what) + " must be text that UTF-8 can encode; it is " + short_text(value))
          .c_str());
}

std::string path_given(std::string_view what, nb::handle value) {
  const nb::object bytes = nb::steal(PyUnicode_EncodeFSDefault(value.ptr()));
  if (bytes.is_valid()) return bytes_of(bytes);
  PyErr_Clear();
  throw nb::value_error((std::string(what) +
                         " must be a path that the file system can encode; it is " +
                         short_text(value))
                            .c_str());
}

std::string short_text(nb::handle value) {
  std::string text = shown_text(nb::repr(value));
  constexpr std::size_t most = 80;
  if (text.size() <= most) return text;
  std::size_t end = most - 1;
  while ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end;  // not within a character
  return text.substr(0, end) + "…";
}

void refuse_given(std::string_view what, std::string_view must, nb::handle value,
                  std::string_view end) {
  const std::string message = std::string(what) + " must be " + std::string(must) + "; it is " +
                              short_text(value) + std::string(end);
  throw nb::type_error(message.c_str());
}

std::string did_you_mean(nb::handle name, const std::vector<std::string>& known) {
  nb::list all;
  for (const std::string& one : known)
    all.append(nb::str(one.data(), one.size()));
  return shown_text(
      nb::module_::import_("troupe.methods.suggestions").attr("did_you_mean")(nb::str(name), all));
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
