// The path of a call like `gpu.blas.gemm(a=x, b=w)`. A type of Python's C API rather than one of
// nanobind's: keywords arrive as interned names, without a dictionary for each call.
#include "operation.hpp"

#include "arguments/arguments.hpp"
#include "arguments/given.hpp"
#include "arguments/options.hpp"
#include "binding.hpp"
#include "future.hpp"
#include "operations/python_operation.hpp"
#include "tensor.hpp"

#include <troupe/request/catalogue.hpp>
#include <troupe/request/fields.hpp>
#include <troupe/request/outputs.hpp>

#include <structmember.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace troupe::python {
namespace {

struct operation {
  device_ref device;
  library_actor actor;
  const request_type* type;
  const argument_setter* setter;
  const python_operation* of_python;

  nb::object call(PyObject* const* values, std::size_t positional, nb::handle names) const;

 private:
  // The results, in the order of the description. Most requests have one.
  class results {
   public:
    void add(int number, nb::object tensor) {
      if (number >= 0) which_ |= std::uint64_t{1} << number;
      if (!first_.second.is_valid()) {
        first_ = {number, std::move(tensor)};
      } else {
        more_.emplace_back(number, std::move(tensor));
      }
    }
    [[nodiscard]] written_tensors take(const argument_setter* names);

   private:
    using numbered = std::pair<int, nb::object>;
    numbered first_;
    std::vector<numbered> more_;
    std::uint64_t which_ = 0;
  };

  void allocate_missing(any_request& request, results& written) const;
  void look_at_updates(PyObject* const* values, std::size_t positional, nb::handle names,
                       any_request& request, failed_operand& failed) const;
  bool set_bound(any_request& request, const argument_setter::argument& to, nb::handle value) const;
  void expect_required(std::size_t positional, nb::handle names) const;
};

void operation::allocate_missing(any_request& request, results& written) const {
  const auto made =
      value_of(allocate_outputs(*type, request.data(), [this](dtype t, const shape& s) {
        return device->device.allocate(t, s);
      }));
  for (const std::size_t offset : made) {
    const auto& view =
        *reinterpret_cast<const any_tensor*>(static_cast<std::byte*>(request.data()) + offset);
    written.add(setter->at(offset).result, nb::cast(py_tensor{view, device}));
  }
}

// One tensor, or a tuple in the order of the description, whichever of them were given.
written_tensors operation::results::take(const argument_setter* names) {
  if (more_.empty()) return {.all = std::move(first_.second), .of = names, .which = which_};
  more_.insert(more_.begin(), std::move(first_));
  std::ranges::sort(more_, {}, &numbered::first);
  nb::object all = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(more_.size())));
  for (std::size_t i = 0; i < more_.size(); ++i)
    PyTuple_SET_ITEM(all.ptr(), static_cast<Py_ssize_t>(i), more_[i].second.release().ptr());
  return {.all = std::move(all), .of = names, .which = which_};
}

// If a bound set is given for a list of tensors, or its name, the table of that set is sent.
bool operation::set_bound(any_request& request, const argument_setter::argument& to,
                          nb::handle value) const {
  if (to.field.kind != field_kind::tensors) return false;
  nb::object set = nb::borrow(value);
  if (nb::isinstance<nb::str>(value)) {
    set = nb::module_::import_("troupe.methods.binding").attr("named")(make_device(device), value);
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

void operation::expect_required(std::size_t positional, nb::handle names) const {
  for (const python_operation::argument& a : of_python->arguments) {
    if (!a.required) continue;
    const nb::str name(a.field.name.data(), a.field.name.size());
    if (names.is_valid() && PySequence_Contains(names.ptr(), name.ptr()) == 1) continue;
    const auto* const one = setter->find(name.ptr());
    const auto& order = setter->positional();
    const auto given =
        order.begin() + static_cast<std::ptrdiff_t>(std::min(positional, order.size()));
    if (std::find(order.begin(), given, one) != given) continue;
    throw nb::type_error((std::string(type->name) + "() is missing the argument " +
                          std::string(a.field.name) + ", which has no default")
                             .c_str());
  }
}

// A future that is updated is read; one that is overwritten need not have succeeded.
void operation::look_at_updates(PyObject* const* values, std::size_t positional, nb::handle names,
                                any_request& request, failed_operand& failed) const {
  const auto look = [&](const argument_setter::argument* to, nb::handle value) {
    if (to == nullptr || to->result < 0 || !nb::isinstance<py_future>(value)) return;
    for_each_tensor(*type, request.data(), [&](std::string_view name, any_tensor&, access role) {
      if (name != to->field.name || role != access::update) return;
      nb::inst_ptr<py_future>(value)->is_read(shown_text(to->name), failed);
    });
  };
  for (std::size_t i = 0; i < positional; ++i)
    look(setter->positional()[i], values[i]);
  const Py_ssize_t count = names.is_valid() ? PyTuple_GET_SIZE(names.ptr()) : 0;
  for (Py_ssize_t i = 0; i < count; ++i)
    look(setter->find(PyTuple_GET_ITEM(names.ptr(), i)),
         values[positional + static_cast<std::size_t>(i)]);
}

nb::object operation::call(PyObject* const* values, std::size_t positional,
                           nb::handle names) const {
  any_request request(*type);
  request_options options;
  results written;
  failed_operand failed;
  bool writes_futures = false;
  std::size_t given = 0;
  if (of_python != nullptr && of_python->has_required) expect_required(positional, names);
  if (positional != 0 && positional > setter->positional().size()) [[unlikely]]
    setter->refuse_too_many(positional);
  const std::size_t named =
      names.is_valid() ? static_cast<std::size_t>(PyTuple_GET_SIZE(names.ptr())) : 0;
  for (std::size_t i = 0; i < positional + named; ++i) {
    const nb::handle value(values[i]);
    const argument_setter::argument* to = nullptr;
    if (i < positional) {
      to = setter->positional()[i];
    } else {
      PyObject* const name = PyTuple_GET_ITEM(names.ptr(), static_cast<Py_ssize_t>(i - positional));
      to = setter->find(name);
      if (to == nullptr) {
        if (set_option(options, type->name, name, value)) continue;
        setter->refuse_unknown(name);
      }
      if (positional != 0) [[unlikely]]
        setter->expect_first(*to, positional);
    }
    if (of_python != nullptr && set_bound(request, *to, value)) continue;
    const nb::handle tensor = setter->set(request, *to, value, failed);
    if (!tensor.is_valid()) continue;
    ++given;
    if (!to->field.may_write) continue;
    written.add(to->result, nb::borrow(tensor));
    writes_futures = writes_futures || tensor.ptr() != value.ptr();
  }
  if (given < setter->tensors()) allocate_missing(request, written);
  if (writes_futures) [[unlikely]]
    look_at_updates(values, positional, names, request, failed);
  if (failed.why) [[unlikely]]
    return not_sent(request, std::move(failed), written.take(setter));

  sent_request sent = send(*device, actor, std::move(request), options);
  py_future made(std::make_shared<pending_future<any_reply>>(std::move(sent.answer)),
                 written.take(setter), std::move(sent.handle));
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
    const auto positional = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
    return of(self).call(args, positional, names).release().ptr();
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
