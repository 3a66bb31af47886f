// The options of `System.device`.

#include "device/device_config.hpp"

#include "arguments/given.hpp"
#include "binding.hpp"
#include "events/journal.hpp"
#include "operations/python_operation.hpp"
#include "profile.hpp"

#include <troupe/device/fork_server.hpp>
#include <troupe/device/trace_file.hpp>
#include <troupe/telemetry/request_journal.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace troupe::python {

namespace {

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
                                       "peer_access",
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
                                       "trace",
                                       "journal"};
  std::string message = "device() has no option '" + shown_text(name) + "'; it has ";
  for (const std::string& one : known)
    message += (&one == known.data() ? "" : ", ") + one;
  throw nb::type_error((message + did_you_mean(name, known)).c_str());
}

}  // namespace

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
    else if (name == "peer_access")
      c.peer_access = flag();
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
    else if (name == "journal" && journal_of(value) != nullptr)
      c.journal = journal_of(value);
    else if (name == "journal")
      c.journal = value_of(request_journal::open(
          path_given(name, nb::module_::import_("os").attr("fsdecode")(value))));
    else
      refuse_option(key);
  }
  return c;
}

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

}  // namespace troupe::python
