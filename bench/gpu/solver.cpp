// What factorisations cost through Troupe on a GPU.

#include "random_numbers.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <troupe/device/device.hpp>
#include <troupe/solver.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

void measure_all(report& out, device gpu, std::int64_t n) {
  std::vector<double> numbers = random_numbers<double>(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i)
    numbers[static_cast<std::size_t>(i * (n + 1))] += static_cast<double>(n);
  // Column-major, as the library takes it.
  const any_tensor a = any_tensor(gpu.tensor<double>({n, n}).value()).transpose();
  const any_tensor factors = any_tensor(gpu.tensor<double>({n, n}).value()).transpose();
  const any_tensor vectors = any_tensor(gpu.tensor<double>({n, n}).value()).transpose();
  const auto pivots = gpu.tensor<std::int64_t>({n}).value();
  const auto values = gpu.tensor<double>({n}).value();
  gpu.copy(std::span<const double>(numbers), a).get();
  const library_actor lane = gpu.library("solver");
  const auto measure = [&](std::string_view name, const auto& what) {
    samples times;
    lane.ask(what).get();
    times.take(10, [&] { lane.ask(what).get(); });
    out.add({fmt::format("{} f64 {}", name, n), times.median(), "us"});
  };
  measure("getrf", solver::getrf{.a = a, .lu = factors, .pivots = pivots});
  measure("potrf", solver::potrf{.a = a, .factor = factors});
  measure("geqrf", solver::geqrf{.a = a, .qr = factors, .tau = values});
  measure("svd", solver::svd{.a = a, .s = values, .u = factors, .vh = vectors});
  measure("eigh", solver::eigh{.a = a, .w = values, .v = vectors});
}

}  // namespace

int main() {
  report out("solver: factorisations on a GPU");
  troupe::system system;
  const device gpu = system.device(0);
  gpu.wait_until_ready().value();
  for (const std::int64_t n : {512, 1024, 4096})
    measure_all(out, gpu, n);
  return out.finish();
}
