#include "device/snapshots.hpp"

#include "binding.hpp"

#include <string>
#include <utility>

namespace troupe::python {

namespace {

nb::object parsed(const std::string& json) {
  return nb::module_::import_("troupe.methods.snapshots").attr("parsed")(json);
}

}  // namespace

nb::object snapshot_of(nb::dict fields) {
  return nb::module_::import_("troupe.methods.snapshots").attr("Snapshot")(**fields);
}

nb::object snapshot_of(const device_health& h) {
  nb::dict made;
  made["state"] = std::string(to_string(h.state));
  made["generation"] = h.generation;
  made["restarts"] = h.restarts;
  made["standby_ready"] = h.standby_ready;
  made["standby_pid"] = h.standby_pid;
  made["last_fault"] = h.last_fault ? exception_for(*h.last_fault) : nb::none();
  made["unexplained_faults"] = h.unexplained_faults;
  made["last_failover"] = static_cast<double>(h.last_failover.count()) * 1e-9;
  return snapshot_of(std::move(made));
}

nb::object snapshot_of(const device_statistics& s) {
  nb::dict made;
  made["sent"] = s.sent;
  made["answered"] = s.answered;
  made["failed"] = s.failed;
  made["replayed"] = s.replayed;
  made["in_flight"] = s.in_flight;
  made["memory_used_bytes"] = s.memory_used_bytes;
  made["memory_peak_bytes"] = s.memory_peak_bytes;
  made["memory_limit_bytes"] = s.memory_limit_bytes;
  made["buffers"] = s.buffers;
  return snapshot_of(std::move(made));
}

nb::object snapshot_of(const device_description& h) {
  nb::dict made;
  made["ordinal"] = h.ordinal;
  made["name"] = h.name;
  made["uuid"] = h.uuid;
  made["architecture"] = h.architecture;
  made["memory_bytes"] = h.memory_bytes;
  return snapshot_of(std::move(made));
}

nb::object snapshot_of(const telemetry_snapshot& s) { return parsed(to_json(s)); }
nb::object snapshot_of(const device_telemetry& d) { return parsed(to_json(d)); }

}  // namespace troupe::python
