#include "arguments/arguments.hpp"
#include "arguments/given.hpp"
#include "binding.hpp"
#include "device/device_handle.hpp"
#include "device/snapshots.hpp"
#include "dtypes.hpp"
#include "future.hpp"
#include "operation.hpp"
#include "operations/python_operation.hpp"
#include "tensor.hpp"

#include <troupe/device/bound_tensors.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/memory/copy.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/plugin/plugin_requests.hpp>
#include <troupe/request/catalogue.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace troupe::python {
namespace {

struct py_device {
  device_ref handle;
  [[nodiscard]] device& operator*() const noexcept { return handle->device; }
  [[nodiscard]] device* operator->() const noexcept { return &handle->device; }
  [[nodiscard]] device& in_order() const { return handle->in_order(); }
};

/// One library's actor on a device.
struct py_library {
  device_ref device;
  std::string name;
  library_actor actor;
};

std::string joined(const auto& all) {
  std::string text;
  for (const std::string_view one : all)
    text += (text.empty() ? "" : ", ") + std::string(one);
  return text;
}

// An object made once is an attribute from then on.
nb::object kept_as_attribute(nb::handle self, const std::string& name, nb::object made) {
  nb::setattr(self, name.c_str(), made);
  return made;
}

// Makes the requests of operations that the device's workers have, once these say which. Waits
// while their modules are imported.
void learn_operations(const device_ref& handle) {
  const auto forks = handle->system->forks_of(handle->device.ordinal());
  if (!forks) return;
  std::string text;
  for (;;) {
    auto said = without_gil([&] { return forks->description(std::chrono::milliseconds(50)); });
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!said && said.error().code == errc::timed_out) continue;
    text = value_of(std::move(said));
    break;
  }
  nb::module_::import_("troupe.operations").attr("define")(text);
}

nb::object library_named(nb::handle self, nb::handle wanted) {
  const std::string name = shown_text(wanted);
  auto all = libraries();
  // Another device may have a library of the same name, with other operations.
  const bool known = std::ranges::find(all, name) != all.end() && !is_python_library(name);
  if (!known && !name.starts_with("_")) {
    learn_operations(nb::inst_ptr<py_device>(self)->handle);
    all = libraries();
  }
  if (std::ranges::find(all, name) == all.end()) {
    const nb::object suggestion = nb::module_::import_("troupe.methods.suggestions")
                                      .attr("for_device")(wanted, self.attr("__dir__")());
    throw nb::attribute_error(("a device has no '" + name + "'; its libraries are " + joined(all) +
                               shown_text(suggestion))
                                  .c_str());
  }
  const py_device& d = *nb::inst_ptr<py_device>(self);
  const std::string_view lane = is_python_library(name) ? python_lane : std::string_view(name);
  return kept_as_attribute(self, name, nb::cast(py_library{d.handle, name, d->library(lane)}));
}

nb::object operation_named(nb::handle self, nb::handle wanted) {
  const std::string name = shown_text(wanted);
  py_library& of = *nb::inst_ptr<py_library>(self);
  if (const request_type* const type = request_named(of.name + "." + name)) {
    return kept_as_attribute(self, name, make_operation(of.device, of.actor, *type));
  }
  std::vector<std::string> all;
  for (const request_type* const one : requests_of(of.name))
    all.emplace_back(one->name.substr(of.name.size() + 1));
  const nb::object suggestion =
      nb::module_::import_("troupe.methods.suggestions").attr("for_request")(wanted, nb::cast(all));
  throw nb::attribute_error(
      (of.name + " has no request '" + name + "'; it has " + joined(all) + shown_text(suggestion))
          .c_str());
}

py_tensor allocate(const py_device& d, nb::handle extents, nb::handle type, bool zero, bool own) {
  const auto allocate_with = [&](initial content) {
    return py_tensor{value_of(d->allocate(dtype_from(type), shape_from(extents), content,
                                          own ? placement::own : placement::shared)),
                     d.handle};
  };
  if (!zero) return allocate_with(initial::undefined);
  const library_actor memory = d->library("memory");
  if (!goes_to_queue(*d.handle, memory)) return allocate_with(initial::zero);
  py_tensor made = allocate_with(initial::undefined);
  any_request fill(request_type_of<memory::fill>());
  *static_cast<memory::fill*>(fill.data()) = {.to = made.view, .value = 0};
  (void)send(*d.handle, memory, std::move(fill), {});
  return made;
}

const argument_setter* of_copies() {
  static const argument_setter* one = nullptr;  // under the GIL
  if (one == nullptr) one = &setter_for(request_type_of<memory::copy>());
  return one;
}

// A buffer that a future can keep for as long as a copy takes.
struct kept_buffer {
  kept_buffer(nb::handle source, int flags) : buffer(new held_buffer(source, flags)) {
    object = nb::capsule(buffer, [](void* p) noexcept { delete static_cast<held_buffer*>(p); });
  }
  held_buffer* buffer;  // the object's
  nb::object object;
};

nb::object copy_in(const py_device& d, nb::handle bytes, nb::handle type, nb::handle to) {
  release_kept();
  const nb::handle target = tensor_of(to, "to");
  kept_buffer from(bytes, PyBUF_SIMPLE);
  const dtype t = dtype_from(type);
  device& on = d.in_order();
  const any_tensor& view = nb::inst_ptr<py_tensor>(target)->view;
  py_future made(std::make_shared<pending_future<void>>(
                     without_gil([&] { return on.copy_in(t, from.buffer->bytes(), view); })),
                 written_tensors{.all = nb::borrow(target), .of = of_copies()});
  made.keep(std::move(from.object));
  return nb::cast(std::move(made));
}

nb::object copy_out(const py_device& d, nb::handle from, nb::handle bytes, nb::handle type,
                    nb::object array) {
  release_kept();
  failed_operand failed;
  const any_tensor& view = tensor_given(from, "source", failed);
  if (failed.why) return not_sent("memory.copy", std::move(failed));
  kept_buffer to(bytes, PyBUF_WRITABLE);
  const dtype t = dtype_from(type);
  device& on = d.in_order();
  py_future made(without_gil([&] { return on.copy_out(view, t, to.buffer->bytes()); }),
                 std::move(array));
  made.keep(std::move(to.object));
  return nb::cast(std::move(made));
}

nb::object copy_tensor(const py_device& d, nb::handle source, nb::handle target) {
  failed_operand failed;
  const nb::handle written = tensor_of(target, "to");
  const py_tensor& from = *nb::inst_ptr<py_tensor>(operand_of(source, "source", failed));
  if (failed.why)
    return not_sent("memory.copy", std::move(failed), written_tensors{.all = nb::borrow(written)});
  const py_tensor& to = *nb::inst_ptr<py_tensor>(written);
  const library_actor memory = d->library("memory");
  const bool on_one_device =
      from.device->queue == d.handle->queue && to.device->queue == d.handle->queue;
  if (on_one_device && goes_to_queue(*d.handle, memory)) {
    any_request copy(request_type_of<memory::copy>());
    *static_cast<memory::copy*>(copy.data()) = {.from = from.view, .to = to.view};
    sent_request sent = send(*d.handle, memory, std::move(copy), {});
    return nb::cast(py_future(std::make_shared<pending_future<any_reply>>(std::move(sent.answer)),
                              written_tensors{.all = nb::borrow(written), .of = of_copies()},
                              std::move(sent.handle)));
  }
  from.device->queue->flush();
  to.device->queue->flush();
  device& on = d.in_order();
  future<void> coming = without_gil([&] { return on.copy(from.view, to.view); });
  // Between devices the second half is sent when the first has ended.
  if (!on_one_device) return nb::cast(py_future(std::move(coming), nb::borrow(written)));
  return nb::cast(py_future(std::make_shared<pending_future<void>>(std::move(coming)),
                            written_tensors{.all = nb::borrow(written), .of = of_copies()}));
}

}  // namespace

nb::object make_device(const device_ref& handle) { return nb::cast(py_device{handle}); }
const device_ref& handle_of(nb::handle device) { return nb::cast<py_device&>(device).handle; }

void add_device(nb::module_& m) {
  nb::class_<py_library>(
      m, "Library", nb::dynamic_attr(),
      "The actor of one library on one device. Its requests are its methods; they run\n"
      "in one lane, in the order sent.")
      .def("__getattr__", &operation_named)
      .def("__dir__",
           [](nb::handle self) {
             nb::list all = nb::borrow<nb::list>(
                 nb::module_::import_("builtins")
                     .attr("list")(
                         nb::module_::import_("builtins").attr("object").attr("__dir__")(self)));
             const py_library& of = *nb::inst_ptr<py_library>(self);
             for (const request_type* const one : requests_of(of.name)) {
               const std::string_view name = one->name.substr(of.name.size() + 1);
               all.append(nb::str(name.data(), name.size()));
             }
             return all;
           })
      .def("__repr__",
           [](const py_library& of) {
             return "<" + of.name + " on device " + std::to_string(of.device->device.ordinal()) +
                    ">";
           })
      .def(
          "on_new_lanes",
          [](const py_library& of, int n) {
            return py_library{of.device, of.name, of.actor.on_new_lanes(n)};
          },
          nb::arg("n") = 1, "The same library with lanes of its own, which run beside the others.");

  nb::class_<py_device>(
      m, "Device", nb::dynamic_attr(),
      "A device: a stable address for requests, served by worker processes that may be\n"
      "replaced at any time. Its libraries are attributes: device.blas.gemm(a=x, b=w).")
      .def("__getattr__", &library_named)
      .def("__dir__",
           [](nb::handle self) {
             nb::list all = nb::borrow<nb::list>(
                 nb::module_::import_("builtins")
                     .attr("list")(
                         nb::module_::import_("builtins").attr("object").attr("__dir__")(self)));
             for (const std::string_view one : libraries())
               all.append(nb::str(one.data(), one.size()));
             return all;
           })
      .def("__eq__",
           [](const py_device& a, nb::handle b) {
             return nb::isinstance<py_device>(b) && nb::inst_ptr<py_device>(b)->handle == a.handle;
           })
      .def("__hash__",
           [](const py_device& d) { return reinterpret_cast<std::uintptr_t>(d.handle.get()); })
      .def("__repr__",
           [](const py_device& d) {
             return "<troupe.Device " + std::to_string(d->ordinal()) + ": " +
                    d->description().name + ", " + std::string(to_string(d->health().state)) + ">";
           })
      .def(
          "empty",
          [](const py_device& d, nb::handle extents, nb::handle type, bool own) {
            return allocate(d, extents, type, false, own);
          },
          nb::arg("shape"), nb::arg("dtype") = "f32", nb::arg("own") = false,
          "A tensor whose content is undefined.\n\n"
          "own: in a piece of memory of its own, so that it can be frozen. Raises OutOfMemory.")
      .def(
          "zeros",
          [](const py_device& d, nb::handle extents, nb::handle type, bool own) {
            return allocate(d, extents, type, true, own);
          },
          nb::arg("shape"), nb::arg("dtype") = "f32", nb::arg("own") = false, "A tensor of zeros.")
      .def(
          "host_empty",
          [](const py_device& d, nb::handle extents, nb::handle type) {
            return py_tensor{value_of(d->allocate_host(dtype_from(type), shape_from(extents))),
                             d.handle};
          },
          nb::arg("shape"), nb::arg("dtype") = "f32",
          "A tensor in memory that the program and the workers share; its content is undefined.\n\n"
          "in_place() shows it as a NumPy array without a copy, and copies from and to it need no\n"
          "staging. Use the elements only while no request that uses them is in flight.")
      .def("_copy_in", &copy_in)
      .def("_copy_out", &copy_out)
      .def("_copy", &copy_tensor)
      .def("_bind",
           [](const py_device& d, const py_tensor& table, std::string set,
              const std::vector<std::pair<std::string, py_tensor>>& tensors) {
             std::vector<std::pair<std::string, any_tensor>> views;
             for (const auto& [name, tensor] : tensors)
               views.emplace_back(name, tensor.view);
             value_of(bind_tensors(*d, table.view, std::move(set), std::move(views)));
           })
      .def_prop_ro("_key",
                   [](const py_device& d) {
                     return nb::make_tuple(reinterpret_cast<std::uintptr_t>(d.handle->system.get()),
                                           d->ordinal());
                   })
      .def_prop_ro(
          "ordinal", [](const py_device& d) { return d->ordinal(); },
          "Its number in the system, as given to System.device().")
      .def_prop_ro(
          "hardware", [](const py_device& d) { return snapshot_of(d->description()); },
          "What serves the device: name, uuid, architecture, memory_bytes, ordinal.")
      .def_prop_ro(
          "health", [](const py_device& d) { return snapshot_of(d->health()); },
          "A snapshot of its state; available at once. json() and as_dict() have all of it.")
      .def_prop_ro(
          "statistics", [](const py_device& d) { return snapshot_of(d->statistics()); },
          "Counts since it was made.")
      .def(
          "snapshot", [](const py_device& d) { return snapshot_of(d->snapshot()); },
          "All facts about it at this moment, as in System.snapshot().")
      .def_prop_ro(
          "generation", [](const py_device& d) { return d->generation(); },
          "0 before the first worker is ready, then one more with each worker.")
      .def_prop_ro(
          "worker_pid", [](const py_device& d) { return d->worker_pid(); },
          "The process that serves it now, or None.")
      .def(
          "wait_until_ready",
          [](const py_device& d) { value_of(without_gil([&] { return d->wait_until_ready(); })); },
          "Waits for the first worker, as does `await device.ready()`. Raises why the device "
          "could\n"
          "not start.")
      .def(
          "ready",
          [](const py_device& d) {
            // As `wait_until_ready`, whose request the caller knows nothing of.
            return py_future(d->ask(lane::marker{}).then([](result<void> r) -> result<void> {
              if (r) return {};
              error why = std::move(r).error();
              why.request.clear();
              return why;
            }));
          },
          "A Future of the first worker: `await device.ready()`. After it the first use of a\n"
          "library of operations in Python waits for nothing.")
      .def(
          "drain",
          [](const py_device& d, double timeout) {
            device& on = d.in_order();
            return without_gil([&] { return on.drain(*duration_of(timeout)); });
          },
          nb::arg("timeout"),
          "Waits until no request is in flight. False if timeout (seconds) passed.")
      .def(
          "trim", [](const py_device& d) { d->trim(); },
          "Returns memory that no tensor uses to the operating system.")
      .def(
          "stop", [](const py_device& d) { without_gil([&] { d->stop(); }); },
          "Refuses new requests, fails those in flight with DeviceStopped, ends the workers. The\n"
          "tensors are kept; see restart().")
      .def(
          "restart",
          [](const py_device& d) { value_of(without_gil([&] { return d->restart(); })); },
          "Brings a stopped device back, with its tensors.")
      .def(
          "renew",
          [](const py_device& d, bool fresh, double drain) {
            return py_future(d->renew({.fresh = fresh, .drain = *duration_of(drain)}));
          },
          nb::arg("fresh") = false, nb::arg("drain") = 10.0,
          "A Future of the next worker, which takes over between two requests: none fails, and\n"
          "none runs twice.\n\n"
          "fresh: it is started after the call, with modules as their files are now. drain: how\n"
          "many seconds new requests may wait for those that run, else DeadlineExceeded.")
      .def(
          "forgive_all", [](const py_device& d) { d->forgive_all(); },
          "Clears the faults of all requests, so that they may run again.");
}

}  // namespace troupe::python
