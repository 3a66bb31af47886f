// The path of a call like `gpu.blas.gemm(a=x, b=w)`. A type of Python's C API rather than one of
// nanobind's: keywords arrive as interned names, without a dictionary for each call.
#include "operation.hpp"

#include "arguments/arguments.hpp"
#include "arguments/given.hpp"
#include "binding.hpp"
#include "future.hpp"
#include "operations/python_operation.hpp"
#include "tensor.hpp"

#include <troupe/request/catalogue.hpp>
#include <troupe/request/outputs.hpp>

#include <nanobind/stl/string.h>
#include <structmember.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>

namespace troupe::python {
namespace {

// The fields by which Python knows a type, made once for each.
const argument_setter& setter_for(const request_type& type) {
  static auto& all = *new std::map<const request_type*, std::unique_ptr<argument_setter>>;
  auto& one = all[&type];
  if (!one) one = std::make_unique<argument_setter>(type);
  return *one;
}

// Options of every request, as keywords.
struct option_names {
  PyObject* deadline = PyUnicode_InternFromString("deadline");
  PyObject* run_limit = PyUnicode_InternFromString("run_limit");
  PyObject* quarantine = PyUnicode_InternFromString("quarantine");
};
const option_names& options_known() {
  static const option_names& names = *new option_names;
  return names;
}

struct operation {
  device_ref device;
  library_actor actor;
  const request_type* type;
  const argument_setter* setter;
  const python_operation* of_python;

  nb::object call(PyObject* const* values, nb::handle names) const;

 private:
  // A result, and its place in the description.
  struct written_tensor {
    std::size_t place;
    nb::object tensor;
  };

  std::string option_name(std::string_view option) const;
  bool set_option(request_options& options, PyObject* name, nb::handle value) const;
  void allocate_missing(any_request& request, std::vector<written_tensor>& written) const;
  static nb::object answer_of(std::vector<written_tensor> written);
  bool set_bound(any_request& request, const argument_setter::argument& to, nb::handle value) const;
  void expect_required(nb::handle names) const;
};

std::string operation::option_name(std::string_view option) const {
  return std::string(type->name) + ": " + std::string(option);
}

bool operation::set_option(request_options& options, PyObject* name, nb::handle value) const {
  const option_names& known = options_known();
  const auto is = [&](PyObject* other) {
    return name == other || PyUnicode_Compare(name, other) == 0;
  };
  if (is(known.quarantine)) {
    options.quarantine = given<bool>(option_name("quarantine"), "True or False", value);
  } else if (is(known.deadline) || is(known.run_limit)) {
    auto& limit = is(known.deadline) ? options.deadline : options.run_limit;
    if (value.is_none()) return true;
    const std::string what = option_name(is(known.deadline) ? "deadline" : "run_limit");
    limit = duration_of(given<double>(what, "a number of seconds", value));
  } else {
    return false;
  }
  return true;
}

void operation::allocate_missing(any_request& request, std::vector<written_tensor>& written) const {
  const auto made =
      value_of(allocate_outputs(*type, request.data(), [this](dtype t, const shape& s) {
        return device->device.allocate(t, s);
      }));
  for (const std::size_t offset : made) {
    const auto& view =
        *reinterpret_cast<const any_tensor*>(static_cast<std::byte*>(request.data()) + offset);
    written.push_back({setter->place_at(offset), nb::cast(py_tensor{view, device})});
  }
}

// One tensor, or a tuple in the order of the description, whichever of them were given.
nb::object operation::answer_of(std::vector<written_tensor> written) {
  if (written.empty()) return nb::none();
  if (written.size() == 1) return std::move(written.front().tensor);
  std::ranges::sort(written, {}, &written_tensor::place);
  nb::object all = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(written.size())));
  for (std::size_t i = 0; i < written.size(); ++i)
    PyTuple_SET_ITEM(all.ptr(), static_cast<Py_ssize_t>(i), written[i].tensor.release().ptr());
  return all;
}

// If a bound set is given for a list of tensors, or its name, the table of that set is sent.
bool operation::set_bound(any_request& request, const argument_setter::argument& to,
                          nb::handle value) const {
  if (to.field.kind != field_kind::tensors) return false;
  nb::object set = nb::borrow(value);
  if (nb::isinstance<nb::str>(value)) {
    set = nb::module_::import_("troupe.binding").attr("named")(make_device(device), value);
  } else if (!nb::hasattr(value, "_table")) {
    return false;
  }
  for (const python_operation::argument& a : of_python->arguments) {
    if (a.field.name != to.field.name) continue;
    *reinterpret_cast<any_tensor*>(static_cast<std::byte*>(request.data()) + a.bound.value()) =
        nb::cast<const py_tensor&>(set.attr("_table")).view;
  }
  return true;
}

void operation::expect_required(nb::handle names) const {
  for (const python_operation::argument& a : of_python->arguments) {
    if (!a.required) continue;
    const nb::str name(a.field.name.data(), a.field.name.size());
    if (names.is_valid() && PySequence_Contains(names.ptr(), name.ptr()) == 1) continue;
    throw nb::type_error((std::string(type->name) + "() is missing the argument " +
                          std::string(a.field.name) + ", which has no default")
                             .c_str());
  }
}

nb::object operation::call(PyObject* const* values, nb::handle names) const {
  any_request request(*type);
  request_options options;
  std::vector<written_tensor> written;
  std::size_t given = 0;
  if (of_python != nullptr && of_python->has_required) expect_required(names);
  const Py_ssize_t count = names.is_valid() ? PyTuple_GET_SIZE(names.ptr()) : 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names.ptr(), i);
    const nb::handle value(values[i]);
    const auto* const to = setter->find(name);
    if (to == nullptr) {
      if (set_option(options, name, value)) continue;
      setter->refuse_unknown(name);
    }
    if (of_python != nullptr && set_bound(request, *to, value)) continue;
    setter->set(request, *to, value);
    if (to->field.kind != field_kind::tensor || value.is_none()) continue;
    ++given;
    if (to->field.may_write) written.push_back({setter->place_of(*to), nb::borrow(value)});
  }
  if (given < setter->tensors()) allocate_missing(request, written);

  sent_request sent = send(*device, actor, std::move(request), options);
  py_future made(std::make_shared<pending_future<any_reply>>(std::move(sent.answer)),
                 answer_of(std::move(written)), std::move(sent.handle));
  if (made.done()) made.raise_refusal();
  return nb::cast(std::move(made));
}

// The object -------------------------------------------------------------------------------------

struct operation_object {
  PyObject_HEAD  //
      vectorcallfunc vectorcall;
  operation* of;
};

operation& of(PyObject* self) noexcept { return *reinterpret_cast<operation_object*>(self)->of; }

PyObject* vectorcall(PyObject* self, PyObject* const* args, std::size_t flags, PyObject* names) {
  return guarded([&]() -> PyObject* {
    const Py_ssize_t positional = PyVectorcall_NARGS(flags);
    if (positional != 0) {
      PyErr_Format(PyExc_TypeError, "%s() takes keyword arguments only, as a=x",
                   std::string(of(self).type->name).c_str());
      return nullptr;
    }
    return of(self).call(args, names).release().ptr();
  });
}

void destroy(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  auto* const object = reinterpret_cast<operation_object*>(self);
  operation* const dead = object->of;
  delete dead;
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* show(PyObject* self) {
  return guarded([&] {
    return nb::module_::import_("troupe.descriptions")
        .attr("shown")(nb::borrow(self))
        .release()
        .ptr();
  });
}

// `__doc__`, `__signature__` and the rest are Python's to make: from the description, when asked.
PyObject* documented(PyObject* self, void* what) {
  return guarded([&] {
    return nb::module_::import_("troupe.descriptions")
        .attr(static_cast<const char*>(what))(nb::borrow(self))
        .release()
        .ptr();
  });
}
PyObject* name_of(PyObject* self, void*) {
  const std::string_view name = of(self).type->name.substr(of(self).type->library().size() + 1);
  return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
}
PyObject* full_name_of(PyObject* self, void*) {
  const std::string_view name = of(self).type->name;
  return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
}

char doc_of[] = "documentation_of";
char signature_of_operation[] = "signature_of";
char description_of_operation[] = "description_of";
PyGetSetDef properties[] = {
    {"__doc__", &documented, nullptr, nullptr, doc_of},
    {"__signature__", &documented, nullptr, nullptr, signature_of_operation},
    {"description", &documented, nullptr, nullptr, description_of_operation},
    {"__name__", &name_of, nullptr, nullptr, nullptr},
    {"__qualname__", &full_name_of, nullptr, nullptr, nullptr},
    {"name", &full_name_of, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(operation_object, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
                       {Py_tp_repr, reinterpret_cast<void*>(&show)},
                       {Py_tp_getset, properties},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {
    "troupe.Operation", sizeof(operation_object), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
PyTypeObject* operation_type = nullptr;

}  // namespace

nb::object make_operation(const device_ref& device, const library_actor& actor,
                          const request_type& type) {
  const argument_setter& setter = setter_for(type);
  auto* const made = PyObject_New(operation_object, operation_type);
  if (made == nullptr) throw nb::python_error();
  made->vectorcall = &vectorcall;
  made->of = new operation{device, actor, &type, &setter, python_operation_of(type)};
  return nb::steal(reinterpret_cast<PyObject*>(made));
}

void add_operation(nb::module_& m) {
  operation_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (operation_type == nullptr) throw nb::python_error();
  m.attr("Operation") = nb::borrow(reinterpret_cast<PyObject*>(operation_type));
}

}  // namespace troupe::python
