#include "binding.hpp"
#include "telemetry.hpp"

NB_MODULE(_core, m) {
  using namespace troupe::python;
  // An object that lives as long as the process is not a leak.
  nanobind::set_leak_warnings(false);
  m.doc() = "What of Troupe's Python package is written in C++.";
  add_future(m);
  add_tensor(m);
  add_mapped_tensor(m);
  add_operation(m);
  add_device(m);
  add_actor(m);
  add_system(m);
  add_telemetry(m);
  add_world(m);
  add_parallel(m);
  add_events(m);
  add_kv_cache(m);
  add_catalogue(m);
  add_expression(m);
  add_function(m);
  add_elementwise_requests(m);
  add_computation(m);
  add_array_view(m);
  add_python_operation(m);
  add_python_calls(m);
  add_fork_server(m);
  add_profile(m);
  add_journal(m);
  add_matrix_market(m);
  add_graph(m);
  add_batch_queue(m);
}
