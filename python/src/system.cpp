#include "arguments/given.hpp"
#include "binding.hpp"
#include "device/device_handle.hpp"
#include "device/snapshots.hpp"
#include "events/logging.hpp"
#include "operations/python_operation.hpp"
#include "profile.hpp"
#include "world/world.hpp"

#include <troupe/base/version.hpp>
#include <troupe/device/trace_file.hpp>
#include <troupe/device/world_config.hpp>
#include <troupe/plugin/plugin_requests.hpp>

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

template <class Enum>
Enum choice(const char* what, nb::handle value,
            std::initializer_list<std::pair<const char*, Enum>> all) {
  const auto name = given<std::string>(what, "a str", value);
  std::string names;
  std::vector<std::string> known;
  for (const auto& [one, value] : all) {
    if (name == one) return value;
    names += (names.empty() ? "'" : ", '") + std::string(one) + "'";
    known.emplace_back(one);
  }
  throw nb::value_error((std::string(what) + " must be one of " + names + "; it is '" + name + "'" +
                         did_you_mean(value, known))
                            .c_str());
}

gpu_choice gpu_from(nb::handle gpu) {
  if (gpu.is_none()) return gpu_choice::same_number();
  constexpr auto must = "a number, a UUID or 'any'";
  if (integer_from(gpu)) return gpu_choice::number(given<std::int32_t>("gpu", must, gpu));
  const auto name = given<std::string>("gpu", must, gpu);
  return name == "any" ? gpu_choice::any() : gpu_choice::uuid(name);
}

lane_policy lanes_from(nb::handle lanes) {
  constexpr auto must = "a number, 'one' or 'per_library'";
  if (integer_from(lanes)) return lane_policy::pool(given<int>("lanes", must, lanes));
  (void)given<std::string>("lanes", must, lanes);
  return choice<lane_policy>(
      "lanes", lanes, {{"one", lane_policy::one()}, {"per_library", lane_policy::per_actor()}});
}

library_methods methods_from(nb::handle methods) {
  library_methods made;
  for (const auto [library, method] : given<nb::dict>("methods", "a dict", methods)) {
    const std::string name = shown_text(library);
    const std::string what = "methods['" + name + "']";
    if (name == "dnn")
      made.dnn =
          choice<dnn_method>(what.c_str(), method,
                             {{"automatic", dnn_method::automatic}, {"loops", dnn_method::loops}});
    else if (name == "tensors")
      made.tensors = choice<tensors_method>(what.c_str(), method,
                                            {{"automatic", tensors_method::automatic},
                                             {"products", tensors_method::products},
                                             {"cutensor", tensors_method::cutensor}});
    else if (name == "elementwise")
      made.elementwise =
          choice<elementwise_method>(what.c_str(), method,
                                     {{"automatic", elementwise_method::automatic},
                                      {"interpreted", elementwise_method::interpreted},
                                      {"compiled", elementwise_method::compiled},
                                      {"callbacks", elementwise_method::callbacks}});
    else
      throw nb::type_error(
          ("methods has dnn, tensors and elementwise; '" + name + "' is given").c_str());
  }
  return made;
}

[[noreturn]] void refuse_option(nb::handle name) {
  const std::vector<std::string> known{"backend",
                                       "isolation",
                                       "gpu",
                                       "full",
                                       "mailbox_capacity",
                                       "memory_limit_bytes",
                                       "standby",
                                       "lanes",
                                       "lane_threads",
                                       "libraries",
                                       "methods",
                                       "restarts",
                                       "restart_window",
                                       "start_timeout",
                                       "silence_timeout",
                                       "run_limit",
                                       "quarantine",
                                       "fault_injection",
                                       "plugins",
                                       "operations",
                                       "reload",
                                       "trace"};
  std::string message = "device() has no option '" + shown_text(name) + "'; it has ";
  for (const std::string& one : known)
    message += (&one == known.data() ? "" : ", ") + one;
  throw nb::type_error((message + did_you_mean(name, known)).c_str());
}

// Sets the options given by keyword. An unknown one is reported, with the existing ones.
device_config config_from(nb::kwargs options) {
  device_config c;
  // Tasks of asyncio send thousands at once; when the mailbox is full, a call waits.
  c.mailbox_capacity = 16'384;
  c.full = when_full::wait;
  for (const auto [key, value] : options) {
    const std::string name = shown_text(key);
    const auto number = [&]<class T>(T& to) {
      to = given<T>(name, std::is_unsigned_v<T> ? "a number that is not negative" : "an integer",
                    value);
    };
    const auto flag = [&] { return given<bool>(name, "True or False", value); };
    const auto seconds = [&] {
      return value.is_none() ? std::chrono::nanoseconds::max()
                             : *duration_of(given<double>(name, "a number of seconds", value));
    };
    if (name == "backend")
      c.backend = choice<backend_kind>("backend", value,
                                       {{"auto", backend_kind::automatic},
                                        {"cpu", backend_kind::cpu},
                                        {"cuda", backend_kind::cuda}});
    else if (name == "isolation")
      c.isolation = choice<isolation>(
          "isolation", value, {{"process", isolation::process}, {"thread", isolation::thread}});
    else if (name == "full")
      c.full = choice<when_full>("full", value,
                                 {{"wait", when_full::wait}, {"reject", when_full::reject}});
    else if (name == "gpu")
      c.gpu = gpu_from(value);
    else if (name == "mailbox_capacity")
      number(c.mailbox_capacity);
    else if (name == "memory_limit_bytes")
      number(c.memory_limit_bytes);
    else if (name == "standby")
      c.standby = flag();
    else if (name == "lanes")
      c.lanes = lanes_from(value);
    else if (name == "lane_threads")
      number(c.lane_threads);
    else if (name == "libraries")
      c.libraries = given<std::vector<std::string>>(name, "a list of names", value);
    else if (name == "methods")
      c.methods = methods_from(value);
    else if (name == "restarts")
      number(c.restarts.restarts);
    else if (name == "restart_window")
      c.restarts.window = seconds();
    else if (name == "start_timeout")
      c.start_timeout = seconds();
    else if (name == "silence_timeout")
      c.silence_timeout = seconds();
    else if (name == "run_limit")
      c.run_limit = seconds();
    else if (name == "quarantine")
      c.quarantine = seconds();
    else if (name == "fault_injection")
      c.fault_injection = flag();
    else if (name == "plugins")
      for (const nb::handle one :
           nb::module_::import_("troupe.launching").attr("paths")(name, value))
        c.plugins.push_back(path_given(name, one));
    else if (name == "operations" || name == "reload")
      continue;  // see `give_operations`
    else if (name == "trace" && profile_tracer_of(value) != nullptr)
      c.tracer = profile_tracer_of(value);
    else if (name == "trace")
      c.tracer = value_of(
          trace_file::open(path_given(name, nb::module_::import_("os").attr("fsdecode")(value))));
    else
      refuse_option(key);
  }
  return c;
}

// Has the device run operations of Python: in workers that a fork server starts, or in this
// program.
void give_operations(device_config& c, nb::handle options) {
  const nb::object launching = nb::module_::import_("troupe.launching");
  // A copy: the program may change its own while a worker starts.
  std::vector<std::string> environment;
  for (const nb::handle one : launching.attr("environment")()) {
    const nb::bytes variable = nb::borrow<nb::bytes>(one);
    environment.emplace_back(variable.c_str(), variable.size());
  }
  c.worker_environment = std::make_shared<const std::vector<std::string>>(std::move(environment));
  const nb::object named = options.attr("get")("operations");
  if (named.is_none()) return;
  const nb::object modules = launching.attr("modules")(named);
  if (c.isolation == isolation::thread) {
    const nb::object operations = nb::module_::import_("troupe.operations");
    operations.attr("load")(modules);
    operations.attr("define_with_functions")();
    operations.attr("run_started")();
    c.own_operations = &add_python_operations;
    return;
  }
  const nb::object reload_given = options.attr("get")("reload");
  const bool reload =
      reload_given.is_none() || given<bool>("reload", "True or False", reload_given);
  fork_server::config how{.command = {}, .environment = *c.worker_environment};
  for (const nb::handle one : launching.attr("command")(modules, reload))
    how.command.push_back(path_given("operations", one));
  c.forked_by = value_of(without_gil([&] { return fork_server::start(std::move(how)); }));
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

nb::object world_of(const py_system& s, nb::handle devices, std::int64_t staging,
                    std::optional<double> run_limit) {
  (void)s.get();
  return make_world(s.handle, devices,
                    {.staging_bytes = staging, .run_limit = duration_of(run_limit)});
}

// How the actors ended within `timeout`, by default the system's own.
result<void> close(const system_ref& handle, std::optional<double> timeout) {
  if (!handle || handle->is_copy()) return {};
  const nb::dict modules = nb::borrow<nb::dict>(PyImport_GetModuleDict());
  if (modules.contains("troupe.binding")) {
    modules["troupe.binding"].attr("forget_system")(reinterpret_cast<std::uintptr_t>(handle.get()));
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
  nb::class_<py_system>(m, "System",
                        "A tree of actors, the threads that run them, and the devices.\n\n"
                        "threads: in the pool of actors; 0 for one per processor. drain: seconds\n"
                        "that actors have at the end for the messages in their mailboxes.")
      .def(
          "__init__",
          [](py_system* self, int threads, double drain) {
            system_config config;
            config.log = log_to_python();
            config.threads = threads;
            config.drain = *duration_of(drain);
            try {
              new (self) py_system{make_system(config)};
            } catch (const failure& why) {
              raise(why.error());
            }
          },
          nb::arg("threads") = 0, nb::arg("drain") = 1.0)
      .def(
          "device", &device_of, nb::arg("ordinal") = 0, nb::arg("options"),
          "The device with this number; made if there is none: on the GPU with that number if\n"
          "there is one, else on the CPU. Returns at once; the device starts in the background.\n\n"
          "Options: backend ('auto', 'cpu', 'cuda'), gpu (number, UUID or 'any'),\n"
          "memory_limit_bytes, standby, plugins (paths), operations (modules), reload, libraries,\n"
          "lanes, run_limit and other limits in seconds, restarts (of losses without a known\n"
          "culprit), fault_injection, trace (path of a Perfetto trace, or a troupe.profile()).")
      .def(
          "close", &close_and_warn, nb::arg("timeout") = nb::none(),
          "Stops the actors, once they have handled what is in their mailboxes, and the devices.\n"
          "Tensors and futures stay; what is not done fails.\n\n"
          "timeout: seconds that the actors have, by default the system's drain. A RuntimeWarning\n"
          "says how many messages were not handled. In a forked child it does nothing.")
      .def("world", &world_of, nb::arg("devices"), nb::arg("staging_bytes") = staging_bytes,
           nb::arg("run_limit") = nb::none(),
           "Several devices of this system as one, each a rank by its place in the list; on the "
           "CPU\n"
           "backend. staging_bytes: memory of each rank through which operations in place pass.\n"
           "run_limit: seconds that the parts of an operation may run together; by default the "
           "longest\n"
           "of the devices'.")
      .def(
          "events", [](const py_system& s) { return events_of(s.get().system); },
          "The events of all devices, in the order of time: the last 1024 of each, as\n"
          "device.events() has them.")
      .def(
          "snapshot", [](const py_system& s) { return snapshot_of(s.get().system.snapshot()); },
          "The counts, states and times of the devices and actors at this moment, as an object "
          "with\n"
          "fields; json() and as_dict() have all of it. Times are seconds.")
      .def(
          "topology", [](const py_system& s) { return topology_of(s.get().system); },
          "How the devices made so far reach each other's memory:\n"
          "{(reader, owner): DeviceLink}, by their numbers.")
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

  m.def("_close_all", &close_all);
  m.attr("__version__") = nb::str(library_version.data(), library_version.size());
}

}  // namespace troupe::python
