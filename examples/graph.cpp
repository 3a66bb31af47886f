// Fits a line to measurements by gradient descent. A step is recorded once and sent as one request;
// the worker is killed between two of them.

#include <troupe/blas.hpp>
#include <troupe/elementwise.hpp>
#include <troupe/graph.hpp>
#include <troupe/memory.hpp>
#include <troupe/troupe.hpp>

#include <cmath>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

static void show(const troupe::request_graph& step, const troupe::device& gpu) {
  using namespace troupe;
  // region: look
  for (const std::string& one : step.requests())
    std::cout << one << '\n';
  std::cout << step.dot();  // for Graphviz
  // endregion: look

  // region: info
  const graph::graph_info how = step.info(gpu).get();
  for (const graph::segment& one : how.segments)
    std::cout << one.first << ": " << one.requests << " requests "
              << (one.is_recorded ? "can be recorded" : one.why) << '\n';
  std::cout << how.launches << " launches in " << how.runs << " runs; " << how.why << '\n';
  // endregion: info
}

int main() {
  using namespace troupe;
  troupe::system system;
  device gpu = system.device(0);

  // y = 0.5 + 2 t
  constexpr std::int64_t count = 100;
  std::vector<double> rows;
  std::vector<double> measured;
  for (int i = 0; i < count; ++i) {
    const double t = i / 100.0;
    rows.insert(rows.end(), {1, t});
    measured.push_back(0.5 + 2 * t);
  }
  const auto a = gpu.tensor<double>({count, 2}).value();
  const auto y = gpu.tensor<double>({count}).value();
  gpu.copy(std::span<const double>(rows), a).get();
  gpu.copy(std::span<const double>(measured), y).get();

  // region: record
  const auto w = gpu.tensor<double>({2}, initial::zero).value();
  const auto residual = gpu.tensor<double>({count}).value();

  graph_recorder rec = gpu.record("step");
  rec.add(blas::copy{.x = y, .y = residual});
  rec.add(blas::gemv{.a = a, .x = w, .y = residual, .alpha = 1, .beta = -1});  // a · w − y
  const auto norm = rec.add(blas::nrm2{.x = residual});
  rec.add(blas::gemv{.a = a.transpose(), .x = residual, .y = w, .alpha = -0.01, .beta = 1});
  rec.parameter("y", y);
  const request_graph step = std::move(rec).finish().value();
  // endregion: record

  // region: run
  double error = 0;
  for (int i = 0; i < 1000; ++i) {
    error = gpu.run(step).get()[norm].as<double>();
    if (i == 500 && gpu.worker_pid()) ::kill(*gpu.worker_pid(), SIGKILL);
  }
  // endregion: run
  std::vector<double> line(2);
  gpu.copy(w, line).get();
  std::cout << "y = " << line[0] << " + " << line[1] << " t, error " << error << '\n';

  // region: parameter
  const auto other = gpu.tensor<double>({count}).value();
  gpu.ask(memory::fill{.to = other, .value = 7}).get();
  for (int i = 0; i < 2000; ++i)
    gpu.run(step, {{"y", other}}).get();
  // endregion: parameter
  gpu.copy(w, line).get();
  std::cout << "y = " << line[0] << " + " << line[1] << " t\n";

  show(step, gpu);
  return error < 1e-3 && std::abs(line[0] - 7) < 1e-3 ? 0 : 1;
}
