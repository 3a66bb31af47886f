#include "telemetry.hpp"

#include "binding.hpp"

#include <troupe/telemetry/serve.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace troupe::python {
namespace {

// Without the GIL where it is closed: its threads end first.
struct py_telemetry {
  telemetry::server served;
  system_ref system;  // its facts; closing the system closes this, too

  void close() {
    without_gil([&] { served.close(); });
  }
};

}  // namespace

nb::object serve_telemetry(const system_ref& system, std::uint16_t port, std::string address,
                           std::string token, bool socket, double fresh, double grace) {
  telemetry::serve_options options{.address = std::move(address),
                                   .port = port,
                                   .token = std::move(token),
                                   .socket = socket,
                                   .fresh = *duration_of(fresh),
                                   .grace = *duration_of(grace)};
  auto made = without_gil([&] { return telemetry::serve(system->system, std::move(options)); });
  return nb::cast(py_telemetry{value_of(std::move(made)), system});
}

void add_telemetry(nb::module_& m) {
  nb::class_<py_telemetry>(m, "Telemetry", "What System.telemetry() has started.")
      .def_prop_ro(
          "url", [](const py_telemetry& t) { return t.served.url(); },
          "For a browser, the token included.")
      .def_prop_ro(
          "port", [](const py_telemetry& t) { return t.served.port(); }, "The port of TCP.")
      .def_prop_ro(
          "socket", [](const py_telemetry& t) { return t.served.socket_path(); },
          "The path of the socket for this user's programs; empty if there is none.")
      .def("close", &py_telemetry::close, "Ends it; its port is free then.")
      .def("__enter__", [](nb::object self) { return self; })
      .def("__exit__", [](py_telemetry& t, nb::args) { t.close(); })
      .def("__repr__",
           [](const py_telemetry& t) { return "<troupe.Telemetry " + t.served.url() + ">"; });
}

}  // namespace troupe::python
