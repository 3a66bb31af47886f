#include "events/logging.hpp"

#include "binding.hpp"
#include "device/device_handle.hpp"
#include "device/snapshots.hpp"

#include <troupe/device/events.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace troupe::python {
namespace {

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// Seconds since the epoch, as in `time.time()`.
double time_of(const device_event& e) { return seconds(e.at.time_since_epoch()); }

nb::object event_object(const device_event& e) {
  nb::dict made;
  made["kind"] = std::string(to_string(e.what));
  made["number"] = e.number;
  made["device"] = e.device;
  made["generation"] = e.generation;
  made["at"] = time_of(e);
  made["pid"] = e.pid;
  made["took"] = seconds(e.took);
  made["wait"] = seconds(e.wait);
  made["count"] = e.count;
  made["failed"] = e.failed;
  made["spent"] = e.spent;
  made["budget"] = e.budget;
  made["request"] = e.why ? e.why->request : std::string();
  made["cause"] = e.why ? exception_for(*e.why) : nb::none();
  return snapshot_of(std::move(made));
}

nb::list objects_of(const std::vector<device_event>& events) {
  nb::list made;
  for (const device_event& e : events)
    made.append(event_object(e));
  return made;
}

}  // namespace

log_hook log_to_python() {
  return [](const log_entry& entry) {
    if (python_ends()) return;
    with_gil([&] {
      // An exception of a handler or a filter must not reach the runtime.
      try {
        const bool failed = entry.reason.code != errc{};
        nb::module_::import_("troupe.methods.logs")
            .attr("log")(std::string(to_string(entry.level)), std::string(entry.source),
                         std::string(entry.event),
                         failed ? exception_for(entry.reason) : nb::none(),
                         entry.of_device ? event_object(*entry.of_device) : nb::none());
      } catch (nb::python_error& e) {
        e.discard_as_unraisable("the logger troupe");
      }
    });
  };
}

void add_events(nb::module_& m) {
  m.def("_events", [](nb::handle device, std::uint64_t after) {
    return objects_of(handle_of(device)->device.events(after));
  });
}

nb::list events_of(const system& s) { return objects_of(s.events()); }

}  // namespace troupe::python
