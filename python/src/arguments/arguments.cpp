#include "arguments/arguments.hpp"

#include "arguments/given.hpp"
#include "binding.hpp"
#include "tensor.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <complex>
#include <span>
#include <type_traits>

namespace troupe::python {
namespace {

std::optional<double> real_from(nb::handle value) {
  if (PyFloat_CheckExact(value.ptr())) return PyFloat_AS_DOUBLE(value.ptr());
  if (nb::isinstance<nb::str>(value)) return std::nullopt;
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  return number;
}

constexpr std::string_view program_suffix = ".program";
constexpr std::string_view constants_suffix = ".constants";
// Its program is its first member, so that a program's place is its function's.
static_assert(std::is_standard_layout_v<elementwise::function>);

// A group that is a function has these two fields, as `function` describes itself.
bool begins_function(std::span<const field_view> fields) {
  if (fields.size() < 2 || fields[0].kind != field_kind::integers ||
      fields[1].kind != field_kind::scalars || !fields[0].name.ends_with(program_suffix)) {
    return false;
  }
  const std::string_view group =
      fields[0].name.substr(0, fields[0].name.size() - program_suffix.size());
  return fields[1].name == std::string(group) + std::string(constants_suffix);
}

}  // namespace

std::optional<scalar> scalar_from(nb::handle value) {
  PyObject* const v = value.ptr();
  if (PyFloat_CheckExact(v)) return scalar(PyFloat_AS_DOUBLE(v));
  if (PyBool_Check(v)) return scalar(v == Py_True ? 1 : 0);
  if (const nb::object index = nb::steal(PyNumber_Index(v)); index.is_valid()) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    if (overflow == 0) return scalar(static_cast<std::int64_t>(number));
    const unsigned long long large = PyLong_AsUnsignedLongLong(index.ptr());
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    return scalar(static_cast<std::uint64_t>(large));
  }
  PyErr_Clear();
  if (PyComplex_Check(v)) {
    return scalar(std::complex<double>(PyComplex_RealAsDouble(v), PyComplex_ImagAsDouble(v)));
  }
  // Of NumPy's complex64, which is no Python number, float() gives the real part.
  if (!PyFloat_Check(v) && nb::hasattr(value, "__complex__")) {
    const nb::object whole = nb::steal(PyObject_CallMethod(v, "__complex__", nullptr));
    if (!whole.is_valid()) PyErr_Clear();
    if (whole.is_valid() && PyComplex_ImagAsDouble(whole.ptr()) != 0) return scalar_from(whole);
  }
  if (auto real = real_from(value)) return scalar(*real);
  return std::nullopt;
}

std::string python_name(std::string_view field) {
  std::string name(field);
  std::ranges::replace(name, '.', '_');
  if (nb::cast<bool>(nb::module_::import_("keyword").attr("iskeyword")(name))) name += '_';
  return name;
}

argument_setter::argument_setter(const request_type& type) : type_(type) {
  const std::vector<field_view> fields = fields_of(type);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const field_view& f = fields[i];
    const bool is_function = begins_function(std::span(fields).subspan(i));
    const std::string_view name =
        is_function ? f.name.substr(0, f.name.size() - program_suffix.size()) : f.name;
    arguments_.push_back({.name = PyUnicode_InternFromString(python_name(name).c_str()),
                          .field = f,
                          .is_function = is_function});
    if (f.kind == field_kind::tensor) ++tensors_;
    if (is_function) ++i;
  }
}

const argument_setter::argument* argument_setter::find(PyObject* name) const noexcept {
  for (const argument& one : arguments_) {
    if (one.name == name) return &one;
  }
  for (const argument& one : arguments_) {
    if (PyUnicode_Compare(one.name, name) == 0) return &one;
  }
  return nullptr;
}

std::size_t argument_setter::place_at(std::size_t offset) const noexcept {
  return static_cast<std::size_t>(std::ranges::find_if(arguments_,
                                                       [offset](const argument& one) {
                                                         return one.field.kind ==
                                                                    field_kind::tensor &&
                                                                one.field.offset == offset;
                                                       }) -
                                  arguments_.begin());
}

void argument_setter::refuse_unknown(nb::handle name) const {
  std::string message =
      std::string(type_.name) + "() has no argument " + shown_text(name) + "; it has ";
  for (const argument& one : arguments_)
    message += (&one == arguments_.data() ? "" : ", ") + shown_text(one.name);
  throw nb::type_error(message.c_str());
}

std::string argument_setter::name_of(const argument& to) const {
  return std::string(type_.name) + ": " + shown_text(to.name);
}

void argument_setter::refuse(const argument& to, std::string_view must, nb::handle value) const {
  refuse_given(name_of(to), must, value);
}

any_tensor argument_setter::tensor_from(const argument& to, nb::handle value) const {
  if (nb::isinstance<py_tensor>(value)) return nb::inst_ptr<py_tensor>(value)->view;
  const std::string type = shown_text(value.type().attr("__name__"));
  std::string must = "a troupe.Tensor";
  if (nb::hasattr(value, "__array__") || nb::hasattr(value, "__dlpack__")) {
    const std::string message =
        name_of(to) + " must be a troupe.Tensor; it is a " + type +
        ", which the device does not have: copy it there with device.tensor(array)";
    throw nb::type_error(message.c_str());
  }
  refuse(to, must, value);
}

elementwise::function argument_setter::function_from(const argument& to, nb::handle value) const {
  if (nb::isinstance<elementwise::function>(value)) {
    return nb::cast<elementwise::function>(value);
  }
  if (PyCallable_Check(value.ptr()) == 0) {
    refuse(to, "a troupe.elementwise.Function, or a Python function", value);
  }
  const nb::object trace = nb::module_::import_("troupe.elementwise").attr("function");
  return nb::cast<elementwise::function>(trace(value));
}

void argument_setter::set(any_request& request, const argument& to, nb::handle value) const {
  if (value.is_none()) return;
  const field_view& f = to.field;
  void* const data = request.data();
  if (to.is_function) {
    f.in<elementwise::function>(data) = function_from(to, value);
    return;
  }
  const auto each = [&](std::string_view must, auto&& take) {
    const nb::object items = nb::steal(PySequence_Fast(value.ptr(), ""));
    if (!items.is_valid()) {
      PyErr_Clear();
      refuse(to, must, value);
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); ++i)
      take(nb::handle(PySequence_Fast_GET_ITEM(items.ptr(), i)));
  };
  switch (f.kind) {
    case field_kind::tensor:
      f.in<any_tensor>(data) = tensor_from(to, value);
      return;
    case field_kind::tensors: {
      auto& list = f.in<std::vector<any_tensor>>(data);
      list.clear();
      each("a list of tensors", [&](nb::handle one) { list.push_back(tensor_from(to, one)); });
      return;
    }
    case field_kind::scalar:
      if (const auto number = scalar_from(value)) {
        f.in<scalar>(data) = *number;
        return;
      }
      refuse(to, "a number", value);
    case field_kind::integer:
      if (const auto number = integer_from(value)) {
        f.in<std::int64_t>(data) = *number;
        return;
      }
      refuse(to, "an integer", value);
    case field_kind::unsigned_integer: {
      const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
      if (!index.is_valid()) {
        PyErr_Clear();
        refuse(to, "an integer", value);
      }
      const unsigned long long number = PyLong_AsUnsignedLongLong(index.ptr());
      if (PyErr_Occurred() != nullptr) throw nb::python_error();
      f.in<std::uint64_t>(data) = number;
      return;
    }
    case field_kind::real:
      if (const auto number = real_from(value)) {
        f.in<double>(data) = *number;
        return;
      }
      refuse(to, "a real number", value);
    case field_kind::boolean:
      if (!PyBool_Check(value.ptr())) refuse(to, "True or False", value);
      f.in<bool>(data) = value.is(Py_True);
      return;
    case field_kind::enumeration: {
      if (nb::isinstance<nb::str>(value)) {
        const std::string name = shown_text(value);
        const auto found = std::ranges::find(f.enumerators, name);
        if (found != f.enumerators.end()) {
          const std::size_t number = static_cast<std::size_t>(found - f.enumerators.begin());
          std::memcpy(static_cast<std::byte*>(data) + f.offset, &number, f.enumeration_bytes);
          return;
        }
      }
      std::string must = "one of ";
      for (const std::string_view one : f.enumerators)
        must += (one == f.enumerators.front() ? "'" : ", '") + std::string(one) + "'";
      refuse(to, must, value);
    }
    case field_kind::text:
      f.in<std::string>(data) = given<std::string>(name_of(to), "a str", value);
      return;
    case field_kind::integers: {
      auto& list = f.in<std::vector<std::int64_t>>(data);
      list.clear();
      each("a list of integers", [&](nb::handle one) {
        const auto number = integer_from(one);
        if (!number) refuse(to, "a list of integers", value);
        list.push_back(*number);
      });
      return;
    }
    case field_kind::scalars: {
      auto& list = f.in<std::vector<scalar>>(data);
      list.clear();
      each("a list of numbers", [&](nb::handle one) {
        const auto number = scalar_from(one);
        if (!number) refuse(to, "a list of numbers", value);
        list.push_back(*number);
      });
      return;
    }
    case field_kind::groups:
      break;
  }
  refuse(to, "left out: lists of groups cannot be given from Python yet", value);
}

}  // namespace troupe::python
