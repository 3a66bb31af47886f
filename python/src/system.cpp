#include "arguments/given.hpp"
#include "binding.hpp"
#include "device/device_config.hpp"
#include "device/device_handle.hpp"
#include "device/snapshots.hpp"
#include "events/logging.hpp"
#include "operations/python_operation.hpp"
#include "profile.hpp"
#include "telemetry.hpp"
#include "world/world.hpp"

#include <troupe/base/version.hpp>
#include <troupe/device/trace_file.hpp>
#include <troupe/device/world_config.hpp>
#include <troupe/plugin/plugin_requests.hpp>
#include <troupe/telemetry/prometheus_text.hpp>
#include <troupe/telemetry/trace.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace troupe::python {

namespace {

struct py_system {
  system_ref handle;
  telemetry::prometheus_text metrics{};  // used with the GIL
  [[nodiscard]] system_handle& get() const {
    if (!handle) throw nb::value_error("the system is closed");
    return *handle;
  }
};

std::atomic<bool> python_has_ended{false};

// The time of a stopped actor for its last hooks.
constexpr std::chrono::seconds last_words{1};

// All systems that there are, to be ended before the interpreter does.
std::vector<std::weak_ptr<system_handle>>& all_systems() {
  static auto& all = *new std::vector<std::weak_ptr<system_handle>>;
  return all;
}

nb::object device_of(const py_system& s, std::int32_t ordinal, nb::kwargs options) {
  system_handle& system = s.get();
  if (is_fork_server()) {
    throw std::runtime_error(
        "this process imports a module with operations, for workers; what makes devices in it "
        "belongs under `if __name__ == '__main__':`");
  }
  const auto make = [&](auto&& f) {
    try {
      return without_gil(f);
    } catch (const failure& why) {
      raise(why.error());
    }
  };
  if (nb::len(options) == 0) {
    // One that there is, whatever it was made with.
    if (const auto there = system.find(ordinal)) {
      return make_device(std::make_shared<device_handle>(s.handle, *there));
    }
  }
  device_config config = config_from(options);
  give_operations(config, options);
  for (const std::string& plugin : config.plugins)
    value_of(load_plugin_requests(plugin));
  device made = make([&] { return system.system.device(ordinal, config); });
  system.keep(ordinal, made, config.forked_by);
  return make_device(std::make_shared<device_handle>(s.handle, made));
}

constexpr std::int64_t staging_bytes = world_config{}.staging_bytes;

constexpr const char* world_text =
    "Several devices of this system as one, each a rank by its place in the list.\n"
    "staging_bytes: memory of each rank through which operations in place pass. run_limit:\n"
    "seconds that the parts of an operation may run together; by default the longest of the\n"
    "devices'. transport: 'peer' for kernels of Troupe's own; 'nccl' for NCCL, which is\n"
    "connected in the background; 'automatic' for the own ones, and once\n"
    "world.collective.connect() was sent, NCCL for what is long. deterministic: excludes NCCL.";

transport transport_from(const std::string& name) {
  if (name == "automatic") return transport::automatic;
  if (name == "peer") return transport::peer;
  if (name == "nccl") return transport::nccl;
  throw nb::value_error(
      ("transport must be 'automatic', 'peer' or 'nccl'; it is '" + name + "'").c_str());
}

nb::object world_of(const py_system& s, nb::handle devices, std::int64_t staging,
                    std::optional<double> run_limit, const std::string& by, bool deterministic) {
  (void)s.get();
  return make_world(s.handle, devices,
                    {.staging_bytes = staging,
                     .run_limit = duration_of(run_limit),
                     .transport = transport_from(by),
                     .deterministic = deterministic});
}

// How the actors ended within `timeout`, by default the system's own.
result<void> close(const system_ref& handle, std::optional<double> timeout) {
  if (!handle || handle->is_copy()) return {};
  const nb::dict modules = nb::borrow<nb::dict>(PyImport_GetModuleDict());
  if (modules.contains("troupe.methods.binding")) {
    modules["troupe.methods.binding"].attr("forget_system")(
        reinterpret_cast<std::uintptr_t>(handle.get()));
  }
  const std::chrono::nanoseconds patience = duration_of(timeout).value_or(handle->drain);
  return without_gil([&] {
    // Actors first: their remaining work may need the devices.
    auto ended = handle->system.shutdown(patience).get_result();
    for (device& one : handle->all())
      one.stop();
    // Stopped, and maybe in a hook: their threads are not to meet the end of the interpreter there.
    handle->has_ended = ended || handle->system.shutdown().wait_for(last_words);
    return ended;
  });
}

void close_and_warn(py_system& s, std::optional<double> timeout) {
  const auto ended = close(s.handle, timeout);
  s.handle.reset();
  if (ended) return;
  const std::string text = "System.close(): " + ended.error().message + " (System(drain=...))";
  if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) throw nb::python_error();
}

void close_all() {
  // Others may make and drop systems while one ends.
  const auto all = all_systems();
  for (const auto& one : all)
    (void)close(one.lock(), std::nullopt);
  const nb::dict modules = nb::borrow<nb::dict>(PyImport_GetModuleDict());
  if (modules.contains("troupe.actors")) modules["troupe.actors"].attr("end_loop")();
  python_has_ended.store(true, std::memory_order_release);
}

void add_reports(nb::class_<py_system>& system) {
  system
      .def(
          "events", [](const py_system& s) { return events_of(s.get().system); },
          "The events of all devices, in the order of time: the last 1024 of each, as\n"
          "device.events() has them.")
      .def(
          "snapshot", [](const py_system& s) { return snapshot_of(s.get().system.snapshot()); },
          "The counts, states and times of the devices and actors at this moment, as an object\n"
          "with fields; json() and as_dict() have all of it. Times are seconds.")
      .def(
          "metrics",
          [](py_system& s) {
            (void)s.get();
            const system_ref from = s.handle;
            auto now = without_gil([&] { return from->system.snapshot(); });
            return s.metrics.write(std::move(now));
          },
          "The text of /metrics for Prometheus, for a program with an HTTP server of its own.")
      .def(
          "trace",
          [](const py_system& s, double seconds) {
            const auto last = duration_of(seconds);
            return without_gil([&] { return trace_json(s.get().system, *last); });
          },
          nb::arg("seconds") = 5.0,
          "The last seconds of all devices as JSON that Perfetto (ui.perfetto.dev) shows:\n"
          "requests whose times were taken, failures, and events.")
      .def(
          "telemetry",
          [](const py_system& s, std::uint16_t port, std::string address, std::string token,
             bool socket, double fresh, double grace) {
            (void)s.get();
            return serve_telemetry(s.handle, port, std::move(address), std::move(token), socket,
                                   fresh, grace);
          },
          nb::arg("port") = 0, nb::arg("address") = "127.0.0.1", nb::arg("token") = "",
          nb::arg("socket") = true, nb::arg("fresh") = 5.0, nb::arg("grace") = 2.0,
          "Shows this system until it is closed: a page for browsers at its url, /metrics for\n"
          "Prometheus, /livez and /readyz for load balancers, /snapshot.json, and a socket for\n"
          "`troupe top`. Nothing there changes anything.\n\n"
          "port: 0 for a free one. address: a numeric one; any but this machine's own needs a\n"
          "token of at least 16 characters. fresh: a device in which no request has ended well "
          "for\n"
          "so many seconds is probed. grace: seconds that a device counts as ready while it "
          "recovers.")
      .def(
          "topology", [](const py_system& s) { return topology_of(s.get().system); },
          "How the devices made so far reach each other's memory:\n"
          "{(reader, owner): DeviceLink}, by their numbers.");
}

}  // namespace

bool python_ends() noexcept {
  return python_has_ended.load(std::memory_order_acquire) || Py_IsInitialized() == 0;
}

system_ref make_system(const system_config& config) {
  system_ref made(new system_handle(config), [](system_handle* dead) {
    // Its threads may wait for the GIL, and then for ever.
    if (python_ends() && !dead->has_ended) return;
    if (PyGILState_Check() != 0) {
      without_gil([dead] { delete dead; });
    } else {
      delete dead;
    }
  });
  std::erase_if(all_systems(), [](const auto& one) { return one.expired(); });
  all_systems().push_back(made);
  return made;
}

void add_system(nb::module_& m) {
  nb::class_<py_system> system(
      m, "System",
      "A tree of actors, the threads that run them, and the devices.\n\n"
      "threads: in the pool of actors; 0 for one per processor. drain: seconds\n"
      "that actors have at the end for the messages in their mailboxes. sample: the times of\n"
      "one request in this many are taken, for snapshot() and trace(); 0 takes none.");
  system
      .def(
          "__init__",
          [](py_system* self, int threads, double drain, std::uint32_t sample) {
            system_config config;
            config.metrics.sample = sample;
            config.log = log_to_python();
            config.threads = threads;
            config.drain = *duration_of(drain);
            try {
              new (self) py_system{make_system(config)};
            } catch (const failure& why) {
              raise(why.error());
            }
          },
          nb::arg("threads") = 0, nb::arg("drain") = 1.0,
          nb::arg("sample") = metrics_config{}.sample)
      .def(
          "device", &device_of, nb::arg("ordinal") = 0, nb::arg("options"),
          "The device with this number; made if there is none: on the GPU with that number if\n"
          "there is one, else on the CPU. Returns at once; the device starts in the background.\n\n"
          "Options: backend ('auto', 'cpu', 'cuda'), gpu (number, UUID or 'any'),\n"
          "memory_limit_bytes, peer_access, standby, plugins (paths), operations (modules), "
          "reload, libraries,\n"
          "lanes, run_limit and other limits in seconds, restarts (of losses without a known\n"
          "culprit), fault_injection, trace (path of a Perfetto trace, or a troupe.profile()).")
      .def(
          "close", &close_and_warn, nb::arg("timeout") = nb::none(),
          "Stops the actors, once they have handled what is in their mailboxes, and the devices.\n"
          "Tensors and futures stay; what is not done fails.\n\n"
          "timeout: seconds that the actors have, by default the system's drain. A RuntimeWarning\n"
          "says how many messages were not handled. In a forked child it does nothing.")
      .def("world", &world_of, nb::arg("devices"), nb::arg("staging_bytes") = staging_bytes,
           nb::arg("run_limit") = nb::none(), nb::arg("transport") = "automatic",
           nb::arg("deterministic") = false, world_text)
      .def_prop_ro(
          "closed", [](const py_system& s) { return s.handle == nullptr; },
          "True after close(), or the end of a with block.")
      .def("_spawn",
           [](const py_system& s, nb::handle make, nb::handle options) {
             return spawn_at_root(
                 s.handle ? s.handle : throw nb::value_error("the system is closed"), make,
                 options);
           })
      .def("__enter__", [](nb::object self) { return self; })
      .def("__exit__", [](py_system& s, nb::args) { close_and_warn(s, std::nullopt); });
  add_reports(system);

  m.def("_close_all", &close_all);
  m.attr("__version__") = nb::str(library_version.data(), library_version.size());
}

}  // namespace troupe::python
