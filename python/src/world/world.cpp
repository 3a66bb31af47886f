#include "world/world.hpp"

#include "arguments/arguments.hpp"
#include "arguments/given.hpp"
#include "binding.hpp"
#include "dtypes.hpp"
#include "future.hpp"
#include "tensor.hpp"

#include <troupe/device/topology.hpp>
#include <troupe/device/world.hpp>
#include <troupe/request/catalogue.hpp>

#include <nanobind/stl/string.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::python {
namespace {

/// A world, and the devices that it needs.
struct world_handle {
  troupe::world all;
  std::vector<device_ref> devices;
};
using world_ref = std::shared_ptr<world_handle>;

struct py_world {
  world_ref handle;
};
/// Its requests of one library.
struct py_world_library {
  world_ref handle;
  std::string name;
};
/// One of them, to be called.
struct py_world_request {
  world_ref handle;
  const request_type* type;
};

nb::list list_of(const world_handle& of, const std::vector<any_tensor>& all) {
  nb::list made;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const device_ref& home = of.devices[k % of.devices.size()];
    made.append(all[k].null() ? nb::none() : nb::cast(py_tensor{all[k], home}));
  }
  return made;
}

std::vector<std::string> requests_for_worlds() {
  std::vector<std::string> all;
  for (const request_type* const one : requests_of("collective"))
    all.emplace_back(one->name.substr(one->name.find('.') + 1));
  return all;
}

const argument_setter& setter_of(const request_type& type) {
  static auto& all = *new std::map<const request_type*, std::unique_ptr<argument_setter>>;
  auto& one = all[&type];
  if (!one) one = std::make_unique<argument_setter>(type);
  return *one;
}

nb::object call(const py_world_request& self, nb::args operands, nb::kwargs arguments) {
  world_handle& of = *self.handle;
  const argument_setter& known = setter_of(*self.type);
  any_request request(*self.type);
  failed_operand failed;
  if (operands.size() > known.positional().size()) known.refuse_too_many(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i)
    (void)known.set(request, *known.positional()[i], operands[i], failed);
  for (const auto [name, value] : arguments) {
    const argument_setter::argument* const to = known.find(name.ptr());
    if (to == nullptr) known.refuse_unknown(name);
    if (operands.size() != 0) known.expect_first(*to, operands.size());
    (void)known.set(request, *to, value, failed);
  }
  if (failed.why) raise(*failed.why);
  value_of(of.all.allocate_outputs(request));
  nb::object written;
  for (const argument_setter::argument& one : known.all()) {
    if (one.field.kind != field_kind::tensors || !one.field.may_write) continue;
    written = list_of(of, one.field.in<std::vector<any_tensor>>(request.data()));
  }
  for (const device_ref& one : of.devices)
    (void)one->in_order();
  auto answer = without_gil([&] { return of.all.ask(std::move(request)); });
  py_future coming(std::make_shared<pending_future<void>>(std::move(answer)),
                   {.all = std::move(written)});
  if (coming.done()) coming.raise_refusal();
  return nb::cast(std::move(coming));
}

nb::list tensors(const py_world& self, nb::handle extents, nb::handle type) {
  return list_of(*self.handle,
                 value_of(self.handle->all.allocate(dtype_from(type), shape_from(extents))));
}

}  // namespace

nb::object make_world(const system_ref& system, nb::handle devices, std::int64_t staging_bytes) {
  std::vector<device_ref> all;
  std::vector<troupe::device> ranks;
  for (const nb::handle one : nb::borrow<nb::object>(devices)) {
    all.push_back(handle_of(one));
    ranks.push_back(all.back()->device);
  }
  try {
    return nb::cast(py_world{std::make_shared<world_handle>(world_handle{
        system->system.world(ranks, {.staging_bytes = staging_bytes}), std::move(all)})});
  } catch (const failure& why) {
    raise(why.error());
  }
}

nb::dict topology_of(system& s) {
  const device_topology all = without_gil([&] { return s.topology(); });
  nb::dict made;
  for (const auto& [reader, owner, link] : all.pairs)
    made[nb::make_tuple(reader, owner)] = nb::cast(link);
  return made;
}

void add_world(nb::module_& m) {
  nb::class_<device_link>(m, "DeviceLink",
                          "How the workers of one device reach the memory of another.")
      .def_prop_ro(
          "through", [](const device_link& self) { return std::string(to_string(self.through)); },
          "'shared_memory', 'same_gpu', 'nvlink', 'pcie', or 'host': they cannot map it.")
      .def_ro("performance_rank", &device_link::performance_rank,
              "The driver's, to compare links of one kind: less is faster.")
      .def_ro("native_atomics", &device_link::native_atomics)
      .def("__repr__", [](const device_link& self) {
        return "DeviceLink(through='" + std::string(to_string(self.through)) + "')";
      });
  nb::class_<py_world_request>(m, "WorldRequest", "A request of all devices of a world.")
      .def("__call__", &call,
           "Sends it. Lists hold a tensor of each device, in rank order. A list that is written "
           "and\n"
           "left out is made, where it follows from the rest. Returns a Future of that list.");
  nb::class_<py_world_library>(m, "WorldLibrary", "The requests of a library for a world.")
      .def("__getattr__",
           [](const py_world_library& self, const std::string& name) {
             const request_type* const type = request_named(self.name + "." + name);
             if (type != nullptr) return py_world_request{self.handle, type};
             throw nb::attribute_error((self.name + " has no request '" + name + "'").c_str());
           })
      .def("__dir__", [](const py_world_library&) { return nb::cast(requests_for_worlds()); });
  nb::class_<py_world>(m, "World",
                       "Several devices as one: a device is a rank, by its place in the list.")
      .def_prop_ro(
          "collective",
          [](const py_world& self) { return py_world_library{self.handle, "collective"}; },
          "Operations of all its devices: world.collective.all_reduce(x=x, op='sum').")
      .def_prop_ro(
          "devices",
          [](const py_world& self) {
            nb::list all;
            for (const device_ref& one : self.handle->devices)
              all.append(make_device(one));
            return all;
          },
          "In rank order.")
      .def("__len__", [](const py_world& self) { return self.handle->devices.size(); })
      .def("tensors", &tensors, nb::arg("shape"), nb::arg("dtype") = "f32",
           "A new tensor on each device, in rank order; their content is undefined.");
}

}  // namespace troupe::python
