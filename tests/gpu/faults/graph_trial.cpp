// A fault in a request that a GPU has recorded.
#include "graph_cases.hpp"
#include "trial.hpp"

#include <troupe/graph.hpp>
#include <troupe/memory/fill.hpp>

#include <fmt/format.h>

namespace troupe::gpu_test {

// Each run of the graph names its own request: after a fault in what was recorded as a whole, a GPU
// runs the requests one at a time, and names the one that ends the worker.
void trials::strike_recorded(trial_report& report) {
  device& gpu = subject_.gpu();
  const any_tensor operand = subject_.own_memory(case_.recorded->type);
  graph_recorder rec = gpu.record("recorded");
  const any_tensor other = subject_.own_memory(case_.recorded->type);
  case_.recorded->add(rec, other);
  case_.recorded->add(rec, operand);
  const request_graph graph = std::move(rec).finish().value();
  const auto run = [&] {
    injected made;
    made.output = operand;
    made.done = gpu.run(graph).then([end = made.end](const result<graph_replies>& outcome) {
      end->at = clock::now();
      if (!outcome) end->why = const_cast<result<graph_replies>&>(outcome).error();
    });
    return made;
  };
  // The first run prepares, the second one records.
  for (int i = 0; i < 2; ++i)
    gpu.run(graph).get();
  std::string named;
  for (int i = 0; i < 2; ++i) {
    // The next worker has the memory again; its content is defined by an overwrite.
    for (const any_tensor& tainted : {operand, other})
      gpu.ask(memory::set_bytes{.to = tainted}).get();
    gpu.ask(fault::inject{.what = fault::kind::withdraw, .target = operand}).get();
    if (i == 0) struck_ = clock::now();
    injected again = run();
    await(report, again, case_.code);
    if (!report.error_ms)
      report.error_ms = std::chrono::duration<double, std::milli>(ended_ - struck_).count();
    if (again.end->why) named = again.end->why->request;
  }
  const std::string culprit = fmt::format("request 1: {}", case_.recorded->name);
  if (report.miss.empty() && named.find(culprit) == std::string::npos)
    report.miss = "the second fault names another request: " + named;
  output_ = operand;
  workers_expected_ = workers_allowed_ = 2;
}

}  // namespace troupe::gpu_test
