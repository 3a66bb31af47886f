// Journals, and their replay.

#include "events/journal.hpp"

#include "binding.hpp"

#include <troupe/journal/replay.hpp>
#include <troupe/telemetry/request_journal.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::python {
namespace {

struct py_journal {
  std::shared_ptr<request_journal> journal;
};

backend_kind backend_named(const char* argument, const std::string& name) {
  if (name == "cpu") return backend_kind::cpu;
  if (name == "cuda") return backend_kind::cuda;
  raise({.code = errc::invalid_argument,
         .message = std::string(argument) + " is 'cpu' or 'cuda'; it is '" + name + "'"});
}

journal_options::when_behind behind_named(const std::string& name) {
  if (name == "gap") return journal_options::when_behind::gap;
  if (name == "wait") return journal_options::when_behind::wait;
  if (name == "stop") return journal_options::when_behind::stop;
  raise({.code = errc::invalid_argument,
         .message = "behind is 'gap', 'wait' or 'stop'; it is '" + name + "'"});
}

nb::dict statistics_of(const py_journal& j) {
  const journal_statistics now = j.journal->statistics();
  nb::dict all;
  all["requests"] = now.requests;
  all["gaps"] = now.gaps;
  all["contents"] = now.contents;
  all["duplicates"] = now.duplicates;
  all["file_bytes"] = now.file_bytes;
  all["waits"] = now.waits;
  all["stopped"] = now.stopped;
  return all;
}

nb::tuple replayed(const std::string& path, const std::optional<std::string>& device,
                   const std::optional<std::string>& against, std::uint64_t first,
                   std::optional<std::uint64_t> last, std::optional<double> tolerance, bool exact,
                   bool stop_at_difference, bool over_gaps, std::vector<std::string> plugins) {
  replay_options how{.from = first,
                     .tolerance = tolerance,
                     .exact = exact,
                     .stop_at_difference = stop_at_difference,
                     .over_gaps = over_gaps};
  if (last) how.to = *last;
  if (device) how.on.backend = backend_named("device", *device);
  if (against) how.against = backend_named("against", *against);
  how.on.plugins = std::move(plugins);
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
          [](py_journal* self, nb::handle path, bool contents, const std::string& behind,
             std::uint64_t most_bytes) {
            const auto name =
                nb::cast<std::string>(nb::module_::import_("os").attr("fsdecode")(path));
            new (self) py_journal{value_of(
                request_journal::open(name, {.data = contents ? journal_options::stored::contents
                                                              : journal_options::stored::frames,
                                             .behind = behind_named(behind),
                                             .most_bytes = most_bytes}))};
          },
          nb::arg("path"), nb::kw_only(), nb::arg("contents") = true, nb::arg("behind") = "gap",
          nb::arg("most_bytes") = 0)
      .def(
          "flush",
          [](const py_journal& j) { return without_gil([&] { return j.journal->flush(); }); },
          "Waits until everything so far is in the file. False if the journal has stopped.")
      .def("statistics", &statistics_of,
           "requests, gaps, contents, duplicates, file_bytes, waits; stopped: why it has ended\n"
           "early, or ''.");
  m.def("replay_journal", &replayed, nb::arg("path"), nb::arg("device").none(),
        nb::arg("against").none(), nb::arg("first"), nb::arg("last").none(),
        nb::arg("tolerance").none(), nb::arg("exact"), nb::arg("stop_at_difference"),
        nb::arg("over_gaps"), nb::arg("plugins"), "Used by troupe.replay: JSON, and text.");
}

}  // namespace troupe::python
