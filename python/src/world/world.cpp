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

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::python {
namespace {

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
  troupe::world& all = of.in_order();
  auto answer = without_gil([&] { return all.ask(std::move(request)); });
  py_future coming(std::make_shared<pending_future<void>>(std::move(answer)),
                   {.all = std::move(written)});
  if (coming.done()) coming.raise_refusal();
  return nb::cast(std::move(coming));
}

/// A world of some devices of another, by their ranks there. `make` makes the C++ one.
template <class Make>
py_world made_of(const world_handle& of, const std::vector<std::size_t>& ranks, Make make) {
  std::vector<device_ref> devices;
  for (const std::size_t rank : ranks)
    if (rank < of.devices.size()) devices.push_back(of.devices[rank]);
  try {
    return {std::make_shared<world_handle>(world_handle{without_gil(make), std::move(devices)})};
  } catch (const failure& why) {
    raise(why.error());
  }
}

py_world subset(const py_world& self, const std::vector<std::size_t>& ranks) {
  return made_of(*self.handle, ranks, [&] { return self.handle->all.subset(ranks); });
}

py_world without(const py_world& self, nb::handle device) {
  const device_ref one = handle_of(device);
  std::vector<std::size_t> others;
  for (std::size_t rank = 0; rank < self.handle->devices.size(); ++rank)
    if (self.handle->devices[rank]->device.ordinal() != one->device.ordinal())
      others.push_back(rank);
  return made_of(*self.handle, others, [&] { return self.handle->all.without(one->device); });
}

nb::dict health(const py_world& self) {
  const world_health now = without_gil([&] { return self.handle->all.health(); });
  nb::list under_way;
  for (const world_operation& one : now.under_way) {
    nb::list ranks;
    for (const auto rank : one.ranks) {
      using progress = world_operation::progress;
      ranks.append(rank == progress::waits  ? "waits"
                   : rank == progress::runs ? "runs"
                                            : "has_ended");
    }
    nb::dict shown;
    shown["number"] = one.number;
    shown["request"] = one.request;
    shown["ranks"] = ranks;
    under_way.append(shown);
  }
  nb::dict all;
  all["operations"] = now.operations;
  all["failed"] = now.failed;
  all["last_failure"] = now.last_failure ? nb::cast(now.last_failure->to_string()) : nb::none();
  all["under_way"] = under_way;
  using connection = nccl_health::connection;
  nb::dict nccl;
  nccl["state"] = now.nccl.state == connection::none        ? "none"
                  : now.nccl.state == connection::under_way ? "under_way"
                  : now.nccl.state == connection::ready     ? "ready"
                                                            : "broken";
  nccl["attempts"] = now.nccl.attempts;
  nccl["operations"] = now.nccl.operations;
  nccl["reason"] = now.nccl.reason;
  all["nccl"] = nccl;
  return all;
}

nb::list tensors(const py_world& self, nb::handle extents, nb::handle type) {
  return list_of(*self.handle,
                 value_of(self.handle->all.allocate(dtype_from(type), shape_from(extents))));
}

}  // namespace

nb::object make_world(const system_ref& system, nb::handle devices, const world_config& config) {
  std::vector<device_ref> all;
  std::vector<troupe::device> ranks;
  for (const nb::handle one : nb::borrow<nb::object>(devices)) {
    all.push_back(handle_of(one));
    ranks.push_back(all.back()->device);
  }
  try {
    return nb::cast(py_world{std::make_shared<world_handle>(
        world_handle{system->system.world(ranks, config), std::move(all)})});
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
      .def("subset", &subset, nb::arg("ranks"), "A world of some of these devices, in this order.")
      .def("without", &without, nb::arg("device"), "A world of the other devices.")
      .def("health", &health,
           "A dict: the operations sent, how many failed and the last failure, and for each one\n"
           "under_way its number, request and how far each rank is; and for nccl the state of the\n"
           "connection, attempts to connect, operations by it, and why it is broken.")
      .def("tensors", &tensors, nb::arg("shape"), nb::arg("dtype") = "f32",
           "A new tensor on each device, in rank order; their content is undefined.");
}

}  // namespace troupe::python
