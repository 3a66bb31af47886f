#include "binding.hpp"
#include "device/snapshots.hpp"
#include "future.hpp"
#include "tensor.hpp"
#include "world/world.hpp"

#include <troupe/device/shard_map.hpp>
#include <troupe/parallel.hpp>
#include <troupe/telemetry/snapshot.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::python {
namespace {

constexpr std::array<const char*, 4> policies{"most_free", "least_in_flight", "round_robin",
                                              "local"};

std::vector<any_tensor> tensors_from(const char* name, nb::handle given) {
  std::vector<any_tensor> all;
  for (const nb::handle one : nb::borrow<nb::object>(given)) {
    if (!nb::isinstance<py_tensor>(one)) {
      throw nb::type_error(
          (name + ("[" + std::to_string(all.size())) + "] must be a Tensor").c_str());
    }
    all.push_back(nb::inst_ptr<py_tensor>(one)->view);
  }
  return all;
}

/// Calls what may throw a failure, which becomes Python's exception.
template <class F>
auto or_raise(F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const failure& why) {
    raise(why.error());
  }
}

struct py_device_group {
  std::vector<device_ref> refs;
  device_group group;

  [[nodiscard]] nb::object object_of(const device& one) const {
    const auto same = [&](const device_ref& r) { return r->device.core() == one.core(); };
    return make_device(*std::ranges::find_if(refs, same));
  }
};

py_device_group group_of(nb::handle devices) {
  std::vector<device_ref> refs;
  std::vector<device> all;
  for (const nb::handle one : nb::borrow<nb::object>(devices)) {
    refs.push_back(handle_of(one));
    all.push_back(refs.back()->device);
  }
  return or_raise([&] { return py_device_group{std::move(refs), device_group(std::move(all))}; });
}

nb::object pick(const py_device_group& self, std::uint64_t min_free_bytes, std::string architecture,
                nb::handle near, const std::optional<std::string>& policy) {
  pick_options options{.min_free_bytes = min_free_bytes,
                       .architecture = std::move(architecture),
                       .near = tensors_from("near", near)};
  if (policy) {
    const auto known = std::ranges::find(policies, *policy);
    if (known == policies.end()) {
      throw nb::value_error(
          ("policy must be most_free, least_in_flight, round_robin or local; it is '" + *policy +
           "'")
              .c_str());
    }
    options.policy = static_cast<pick_policy>(known - policies.begin());
  }
  return self.object_of(value_of(self.group.pick(options)));
}

struct py_shard_map {
  py_device_group group;
  shard_map map;
};

struct py_buckets {
  world_ref world;
  parallel::gradient_buckets all;

  [[nodiscard]] py_tensor on(std::size_t rank, const any_tensor& view) const {
    return {view, world->devices[rank]};
  }
  void check(std::size_t rank, std::size_t parameter) const {
    if (rank < world->devices.size() && parameter < all.parameter_count()) return;
    throw nb::index_error(
        ("there is no gradient " + std::to_string(parameter) + " of rank " + std::to_string(rank))
            .c_str());
  }
};

nb::object replicate(const py_world& self, nb::handle tensors, std::size_t root, bool own) {
  const auto given = tensors_from("tensors", tensors);
  troupe::world& all = self.handle->in_order();
  auto made = value_of(without_gil([&] {
    return parallel::replicate(all, given, root, own ? placement::own : placement::shared);
  }));
  nb::list on;
  for (std::size_t rank = 0; rank < made.on.size(); ++rank) {
    nb::list of_rank;
    for (const any_tensor& one : made.on[rank])
      of_rank.append(nb::cast(py_tensor{one, self.handle->devices[rank]}));
    on.append(std::move(of_rank));
  }
  py_future coming(std::make_shared<pending_future<void>>(std::move(made.done)),
                   {.all = std::move(on)});
  if (coming.done()) coming.raise_refusal();
  return nb::cast(std::move(coming));
}

void add_placement(nb::module_& m) {
  nb::class_<py_device_group>(m, "DeviceGroup", "Devices among which one is picked.")
      .def(
          "__init__",
          [](py_device_group* self, nb::handle devices) {
            new (self) py_device_group(group_of(devices));
          },
          nb::arg("devices"))
      .def("pick", &pick, nb::kw_only(), nb::arg("min_free_bytes") = 0,
           nb::arg("architecture") = "", nb::arg("near") = nb::tuple(),
           nb::arg("policy") = nb::none(),
           "The best device that has not stopped and has what is asked for.\n\n"
           "near: tensors that the work will use. policy: 'most_free', 'least_in_flight',\n"
           "'round_robin' or 'local', the default where there is something near.")
      .def("snapshots", [](const py_device_group& self) {
        nb::list all;
        for (const device_snapshot& one : self.group.snapshots()) {
          nb::dict made;
          made["ordinal"] = one.ordinal;
          made["state"] = std::string(to_string(one.state));
          made["architecture"] = one.architecture;
          made["free_bytes"] = one.free_bytes;
          made["in_flight"] = one.in_flight;
          all.append(snapshot_of(std::move(made)));
        }
        return all;
      });
  nb::class_<py_shard_map>(m, "ShardMap",
                           "Which device has which key, by rendezvous hashing over UUIDs.")
      .def(
          "__init__",
          [](py_shard_map* self, nb::handle devices, const std::vector<double>& weights) {
            auto group = group_of(devices);
            auto map = or_raise([&] { return shard_map(group.group, weights); });
            new (self) py_shard_map{std::move(group), std::move(map)};
          },
          nb::arg("devices"), nb::arg("weights") = nb::tuple())
      .def(
          "device_of",
          [](const py_shard_map& self, const std::string& key) {
            return self.group.object_of(value_of(self.map.device_of(key)));
          },
          nb::arg("key"), "The device of a key: the first of its ranking that has not stopped.")
      .def(
          "ranking",
          [](const py_shard_map& self, const std::string& key) {
            nb::list all;
            for (const device& one : self.map.ranking(key))
              all.append(self.group.object_of(one));
            return all;
          },
          nb::arg("key"), "All devices, the one that has the key first.");
  m.def("_work", [](nb::handle device) {
    const auto now = detail::work_of(handle_of(device)->device);
    return nb::make_tuple(now.rank, now.in_flight);
  });
}

}  // namespace

void add_parallel(nb::module_& m) {
  add_placement(m);
  m.def("replicate", &replicate, nb::arg("world"), nb::arg("tensors"), nb::kw_only(),
        nb::arg("root") = 0, nb::arg("own") = false,
        "Copies tensors of the root to all other devices of a world, by one broadcast.\n\n"
        "A Future of a list of each rank's tensors, in rank order. own: they can be frozen.");
  constexpr parallel::bucket_options usual;
  nb::class_<py_buckets>(m, "GradientBuckets",
                         "Gradients of each rank, packed, and averaged over all ranks as soon as\n"
                         "the last of a bucket was sent.")
      .def(
          "__init__",
          [](py_buckets* self, const py_world& world, nb::handle parameters, std::int64_t bytes,
             bool out_of_place) {
            const auto given = tensors_from("parameters", parameters);
            auto made = value_of(parallel::gradient_buckets::create(
                world.handle->all, given, {.bytes = bytes, .out_of_place = out_of_place}));
            new (self) py_buckets{world.handle, std::move(made)};
          },
          nb::arg("world"), nb::arg("parameters"), nb::kw_only(), nb::arg("bytes") = usual.bytes,
          nb::arg("out_of_place") = usual.out_of_place,
          "For parameters of these extents and types, of any rank. bytes: of a bucket.\n"
          "out_of_place: averages have memory of their own.")
      .def(
          "gradient",
          [](const py_buckets& self, std::size_t rank, std::size_t parameter) {
            self.check(rank, parameter);
            return self.on(rank, self.all.gradient(rank, parameter));
          },
          nb::arg("rank"), nb::arg("parameter"), "Where a gradient is to be written.")
      .def(
          "average",
          [](const py_buckets& self, std::size_t rank, std::size_t parameter) {
            self.check(rank, parameter);
            return self.on(rank, self.all.average(rank, parameter));
          },
          nb::arg("rank"), nb::arg("parameter"), "Where its average is to be read.")
      .def(
          "sent",
          [](py_buckets& self, std::size_t rank, std::size_t parameter) {
            (void)self.world->in_order();
            value_of(without_gil([&] { return self.all.sent(rank, parameter); }));
          },
          nb::arg("rank"), nb::arg("parameter"),
          "Says that the last request of this step that writes the gradient has been sent.")
      .def("__len__", [](const py_buckets& self) { return self.all.bucket_count(); });
}

}  // namespace troupe::python
