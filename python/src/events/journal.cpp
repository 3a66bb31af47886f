// Journals, and their replay.

#include "events/journal.hpp"

#include "arguments/given.hpp"
#include "binding.hpp"
#include "device/device_config.hpp"
#include "device/snapshots.hpp"

#include <troupe/device/fork_server.hpp>
#include <troupe/journal/replay.hpp>
#include <troupe/telemetry/request_journal.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::python {
namespace {

struct py_journal {
  std::shared_ptr<request_journal> journal;
};

backend_kind backend_named(const char* argument, nb::handle name) {
  return choice<backend_kind>(argument, name,
                              {{"cpu", backend_kind::cpu}, {"cuda", backend_kind::cuda}});
}

journal_options::when_behind behind_named(nb::handle name) {
  using when_behind = journal_options::when_behind;
  return choice<when_behind>(
      "behind", name,
      {{"gap", when_behind::gap}, {"wait", when_behind::wait}, {"stop", when_behind::stop}});
}

nb::object statistics_of(const py_journal& j) {
  const journal_statistics now = j.journal->statistics();
  nb::dict all;
  all["requests"] = now.requests;
  all["gaps"] = now.gaps;
  all["contents"] = now.contents;
  all["duplicates"] = now.duplicates;
  all["file_bytes"] = now.file_bytes;
  all["waits"] = now.waits;
  all["stopped"] = now.stopped;
  return snapshot_of(std::move(all));
}

// Workers that have the operations of modules, and their requests in this program.
void offer_operations(device_config& to, nb::handle modules) {
  nb::dict options;
  options["operations"] = modules;
  options["reload"] = false;
  give_operations(to, options);
  const std::string described =
      value_of(without_gil([&] { return to.forked_by->description(std::chrono::seconds(60)); }));
  nb::module_::import_("troupe.operations").attr("define")(described);
}

nb::tuple replayed(const std::string& path, nb::handle device, nb::handle against,
                   std::uint64_t first, std::optional<std::uint64_t> last,
                   std::optional<double> tolerance, bool exact, bool stop_at_difference,
                   bool over_gaps, std::vector<std::string> plugins,
                   std::vector<std::string> environment, nb::handle operations) {
  replay_options how{.from = first,
                     .tolerance = tolerance,
                     .exact = exact,
                     .stop_at_difference = stop_at_difference,
                     .over_gaps = over_gaps};
  if (last) how.to = *last;
  if (!device.is_none()) how.on.backend = backend_named("device", device);
  if (!against.is_none()) how.against = backend_named("against", against);
  how.on.plugins = std::move(plugins);
  how.environment = std::move(environment);
  if (!operations.is_none()) offer_operations(how.on, operations);
  const replay_report report = value_of(without_gil([&] { return replay(path, how); }));
  return nb::make_tuple(report.json(), report.text());
}

}  // namespace

std::shared_ptr<request_journal> journal_of(nb::handle object) {
  return nb::isinstance<py_journal>(object) ? nb::inst_ptr<py_journal>(object)->journal : nullptr;
}

void add_journal(nb::module_& m) {
  nb::class_<py_journal>(
      m, "Journal",
      "A file that records what devices are asked: system.device(0, journal=Journal(path)).\n"
      "replay(path) runs it again. contents=False leaves the data out. behind is what happens\n"
      "when it cannot keep up: 'gap' leaves notes out, 'wait' has senders wait, 'stop' ends it.")
      .def(
          "__init__",
          [](py_journal* self, nb::handle path, bool contents, nb::handle behind,
             std::uint64_t most_bytes, std::uint64_t checkpoint_bytes) {
            const std::string name =
                path_given("path", nb::module_::import_("os").attr("fsdecode")(path));
            new (self) py_journal{value_of(
                request_journal::open(name, {.data = contents ? journal_options::stored::contents
                                                              : journal_options::stored::frames,
                                             .behind = behind_named(behind),
                                             .most_bytes = most_bytes,
                                             .checkpoint_bytes = checkpoint_bytes}))};
          },
          nb::arg("path"), nb::kw_only(), nb::arg("contents") = true, nb::arg("behind") = "gap",
          nb::arg("most_bytes") = 0, nb::arg("checkpoint_bytes") = 0)
      .def(
          "flush",
          [](const py_journal& j) { return without_gil([&] { return j.journal->flush(); }); },
          "Waits until everything so far is in the file. False if it is not: a write has failed, "
          "or\n"
          "the journal has stopped.")
      .def("statistics", &statistics_of,
           "requests, gaps, contents, duplicates, file_bytes, waits; stopped: why it has ended\n"
           "early, or ''.");
  m.def("replay_journal", &replayed, nb::arg("path"), nb::arg("device").none(),
        nb::arg("against").none(), nb::arg("first"), nb::arg("last").none(),
        nb::arg("tolerance").none(), nb::arg("exact"), nb::arg("stop_at_difference"),
        nb::arg("over_gaps"), nb::arg("plugins"), nb::arg("environment"),
        nb::arg("operations").none(), "Used by troupe.replay: JSON, and text.");
}

}  // namespace troupe::python
