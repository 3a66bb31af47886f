#include "arguments/arguments.hpp"

#include "arguments/given.hpp"
#include "arguments/options.hpp"
#include "binding.hpp"
#include "future.hpp"
#include "tensor.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <map>
#include <memory>
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

constexpr std::array<short_name, 3> all_short_names{
    {{"max", "maximum"}, {"min", "minimum"}, {"prod", "product"}}};

// Options of every request.

// The number of an enumerator; that of none if there is no such name.
std::size_t enumerator_named(std::span<const std::string_view> all, std::string_view name) {
  auto found = std::ranges::find(all, name);
  if (found == all.end()) {
    const auto longer = std::ranges::find(all_short_names, name, &short_name::name);
    if (longer != all_short_names.end()) found = std::ranges::find(all, longer->of);
  }
  return static_cast<std::size_t>(found - all.begin());
}

}  // namespace

std::span<const short_name> short_names() noexcept { return all_short_names; }

const argument_setter& setter_for(const request_type& type) {
  static auto& all = *new std::map<const request_type*, std::unique_ptr<argument_setter>>;
  if (const auto found = all.find(&type); found != all.end()) return *found->second;
  auto made = std::make_unique<argument_setter>(type);  // may let other threads in
  return *all.try_emplace(&type, std::move(made)).first->second;
}

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
  // NumPy's complex64 is no Python number, and float() would give its real part.
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
  constexpr int most_results = 64;  // bits of `written_tensors`
  int results = 0;
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
    if (f.kind == field_kind::tensor && f.may_write && results < most_results) {
      arguments_.back().result = results++;
    }
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

auto argument_setter::at(std::size_t offset) const noexcept -> const argument& {
  return *std::ranges::find_if(arguments_, [offset](const argument& one) {
    return one.field.kind == field_kind::tensor && one.field.offset == offset;
  });
}

// Python makes the signature, when it is first needed.
auto argument_setter::positional() const -> const std::vector<const argument*>& {
  if (has_positional_) return positional_;
  const nb::object names = nb::module_::import_("troupe.descriptions")
                               .attr("positional")(nb::str(type_.name.data(), type_.name.size()));
  positional_.clear();
  for (nb::handle name : names)
    positional_.push_back(find(name.ptr()));
  has_positional_ = true;
  return positional_;
}

void argument_setter::refuse_unknown(nb::handle name) const {
  std::string message =
      std::string(type_.name) + "() has no argument " + shown_text(name) + "; it has ";
  std::vector<std::string> known(option_names.begin(), option_names.end());
  for (const argument& one : arguments_) {
    known.push_back(shown_text(one.name));
    message += (&one == arguments_.data() ? "" : ", ") + known.back();
  }
  throw nb::type_error((message + did_you_mean(name, known)).c_str());
}

void argument_setter::expect_first(const argument& to, std::size_t given) const {
  const auto before = std::span(positional()).first(given);
  if (std::ranges::find(before, &to) == before.end()) return;
  throw nb::type_error((name_of(to) + " is given twice").c_str());
}

void argument_setter::refuse_too_many(std::size_t given) const {
  std::string message = std::string(type_.name) + "() takes " +
                        std::to_string(positional().size()) + " operands without names";
  for (const argument* const one : positional())
    message += (one == positional().front() ? " (" : ", ") + shown_text(one->name);
  message += positional().empty() ? "; " : "); ";
  throw nb::type_error((message + std::to_string(given) + " are given").c_str());
}

std::string argument_setter::name_of(const argument& to) const {
  return std::string(type_.name) + ": " + shown_text(to.name);
}

void argument_setter::refuse(const argument& to, std::string_view must, nb::handle value) const {
  refuse_given(name_of(to), must, value);
}

nb::handle argument_setter::tensor_from(const argument& to, nb::handle value,
                                        failed_operand& failed) const {
  if (nb::isinstance<py_tensor>(value)) return value;
  if (nb::isinstance<py_future>(value)) {
    py_future& one = *nb::inst_ptr<py_future>(value);
    const std::string name = shown_text(to.name);
    const nb::handle tensor = one.tensor(name);
    // Whether what may be written is read as well depends on other arguments.
    if (to.field.kind != field_kind::tensor || !to.field.may_write) one.is_read(name, failed);
    return tensor;
  }
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

nb::handle argument_setter::set(any_request& request, const argument& to, nb::handle value,
                                failed_operand& failed) const {
  if (value.is_none()) return {};
  const field_view& f = to.field;
  void* const data = request.data();
  if (to.is_function) {
    f.in<elementwise::function>(data) = function_from(to, value);
    return {};
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
    case field_kind::tensor: {
      const nb::handle tensor = tensor_from(to, value, failed);
      f.in<any_tensor>(data) = nb::inst_ptr<py_tensor>(tensor)->view;
      return tensor;
    }
    case field_kind::tensors: {
      auto& list = f.in<std::vector<any_tensor>>(data);
      list.clear();
      each("a list of tensors", [&](nb::handle one) {
        list.push_back(f.per_rank && one.is_none()
                           ? any_tensor()
                           : nb::inst_ptr<py_tensor>(tensor_from(to, one, failed))->view);
      });
      return {};
    }
    case field_kind::scalar:
      if (const auto number = scalar_from(value)) {
        f.in<scalar>(data) = *number;
        return {};
      }
      refuse(to, "a number", value);
    case field_kind::integer:
      if (const auto number = integer_from(value)) {
        f.in<std::int64_t>(data) = *number;
        return {};
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
      return {};
    }
    case field_kind::real:
      if (const auto number = real_from(value)) {
        f.in<double>(data) = *number;
        return {};
      }
      refuse(to, "a real number", value);
    case field_kind::boolean:
      if (!PyBool_Check(value.ptr())) refuse(to, "True or False", value);
      f.in<bool>(data) = value.is(Py_True);
      return {};
    case field_kind::enumeration: {
      if (nb::isinstance<nb::str>(value)) {
        const std::size_t number = enumerator_named(f.enumerators, shown_text(value));
        if (number < f.enumerators.size()) {
          std::memcpy(static_cast<std::byte*>(data) + f.offset, &number, f.enumeration_bytes);
          return {};
        }
      }
      std::string must = "one of ";
      for (const std::string_view one : f.enumerators)
        must += (one == f.enumerators.front() ? "'" : ", '") + std::string(one) + "'";
      const std::vector<std::string> known(f.enumerators.begin(), f.enumerators.end());
      refuse_given(name_of(to), must, value,
                   nb::isinstance<nb::str>(value) ? did_you_mean(value, known) : "");
    }
    case field_kind::text:
      f.in<std::string>(data) = given<std::string>(name_of(to), "a str", value);
      return {};
    case field_kind::integers: {
      auto& list = f.in<std::vector<std::int64_t>>(data);
      list.clear();
      each("a list of integers", [&](nb::handle one) {
        const auto number = integer_from(one);
        if (!number) refuse(to, "a list of integers", value);
        list.push_back(*number);
      });
      return {};
    }
    case field_kind::scalars: {
      auto& list = f.in<std::vector<scalar>>(data);
      list.clear();
      each("a list of numbers", [&](nb::handle one) {
        const auto number = scalar_from(one);
        if (!number) refuse(to, "a list of numbers", value);
        list.push_back(*number);
      });
      return {};
    }
    case field_kind::groups:
      break;
  }
  refuse(to, "left out: lists of groups cannot be given from Python yet", value);
}

}  // namespace troupe::python
