// Solves a system whose matrix a Matrix Market file holds, by conjugate gradients on a device.
//
// With the name of a file of a symmetric positive definite matrix it solves that system; without
// one it makes a file of the differences on a grid.

#include <troupe/blas.hpp>
#include <troupe/device.hpp>
#include <troupe/sparse.hpp>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <span>
#include <vector>

namespace {

/// Five-point differences on a grid of `side` · `side` points.
troupe::sparse::coordinates grid(std::int64_t side) {
  troupe::sparse::coordinates a;
  a.rows = a.columns = side * side;
  const auto add = [&](std::int64_t i, std::int64_t j, double v) {
    a.row_indices.push_back(i);
    a.column_indices.push_back(j);
    a.values.emplace_back(v);
  };
  for (std::int64_t i = 0; i < a.rows; ++i) {
    if (i >= side) add(i, i - side, -1);
    if (i % side > 0) add(i, i - 1, -1);
    add(i, i, 4);
    if (i % side < side - 1) add(i, i + 1, -1);
    if (i + side < a.rows) add(i, i + side, -1);
  }
  return a;
}

}  // namespace

int main(int argc, char** argv) {
  namespace blas = troupe::blas;
  namespace sparse = troupe::sparse;
  troupe::system system;
  troupe::device gpu = system.device(0);

  std::filesystem::path file = argc > 1 ? argv[1] : "grid.mtx";
  if (argc < 2 && !sparse::write_matrix_market(grid(60), file)) return 1;

  // region: read
  const sparse::coordinates read = sparse::read_matrix_market(file).value();
  const troupe::sparse_matrix a = sparse::to_device(gpu, read).value();
  gpu.ask(sparse::validate{.a = a}).get();  // it came from elsewhere
  // endregion: read

  const std::int64_t n = a.rows;
  auto b = gpu.tensor<double>({n}).value();
  auto x = gpu.tensor<double>({n}, troupe::initial::zero).value();
  auto residual = gpu.tensor<double>({n}).value();
  auto direction = gpu.tensor<double>({n}).value();
  auto image = gpu.tensor<double>({n}).value();
  const std::vector<double> ones(static_cast<std::size_t>(n), 1.0);
  gpu.copy(std::span(ones), b).get();
  gpu.copy(b, residual).get();
  gpu.copy(b, direction).get();

  // Sent without waiting: the answer of a step's last request also covers the others.
  bool refused = false;
  const auto send = [&](const auto& request) { refused |= !gpu.tell(request); };

  // region: iterate
  const auto dot = [&](const troupe::any_tensor& u, const troupe::any_tensor& v) {
    return gpu.ask(blas::dot{.x = u, .y = v}).get().as<double>();
  };
  double old = dot(residual, residual);
  const double goal = 1e-20 * old;
  int steps = 0;
  while (old > goal && steps < 1000 && !refused) {
    send(sparse::spmv{.a = a, .x = direction, .y = image});
    const double alpha = old / dot(direction, image);
    send(blas::axpy{.x = direction, .y = x, .alpha = alpha});
    send(blas::axpy{.x = image, .y = residual, .alpha = -alpha});
    const double now = dot(residual, residual);
    send(blas::axpby{.x = residual, .y = direction, .alpha = 1, .beta = now / old});
    old = now;
    ++steps;
  }
  // endregion: iterate

  // The rest of b for this x.
  send(sparse::spmv{.a = a, .x = x, .y = b, .alpha = -1, .beta = 1});
  const double left = std::sqrt(dot(b, b) / static_cast<double>(n));
  std::cout << n << " unknowns, " << steps << " steps, |b − a · x| = " << left << " · |b|\n";
  return left < 1e-9 && !refused ? 0 : 1;
}
