// The cost of factorisations through Troupe on a GPU, beside cuSOLVER called directly on the same
// data; and of small requests of another lane while a long one waits.

#include "gpu/raw/raw_solver.hpp"
#include "random_numbers.hpp"
#include "side_by_side.hpp"

#include <troupe/blas/level1.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/solver.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

using routine = raw::solver::what;
using batch = raw::solver::batch;

constexpr repetitions few{.blocks = 4, .warm_up = 1, .per_block = 3, .moves = false};

/// Symmetric, and positive definite by its diagonal: for every routine.
std::vector<float> matrix(std::int64_t n, std::int64_t count = 1) {
  const std::size_t side = static_cast<std::size_t>(n);
  std::vector<float> all = random_numbers<float>(side * side * static_cast<std::size_t>(count));
  for (std::size_t b = 0; b < static_cast<std::size_t>(count); ++b) {
    float* const a = all.data() + b * side * side;
    for (std::size_t j = 0; j < side; ++j) {
      for (std::size_t i = 0; i < j; ++i)
        a[i * side + j] = a[j * side + i];
      a[j * side + j] += static_cast<float>(n);
    }
  }
  return all;
}

/// The same matrices on both sides. Each run of the raw side begins with the copy that Troupe's
/// requests make, because they leave `a` as it is.
struct operands {
  any_tensor a, b, out, other;  // column-major, as the library takes them
  raw::memory raw_a, raw_out, raw_b;
  std::size_t bytes;

  operands(const device& gpu, raw::stream& stream, std::int64_t n, std::int64_t count = 1)
      : raw_a(raw::memory::place::device, size(n, count)),
        raw_out(raw::memory::place::device, size(n, count)),
        raw_b(raw::memory::place::device, size(n, count)),
        bytes(size(n, count)) {
    device g = gpu;
    const shape extents = count == 1 ? shape{n, n} : shape{count, n, n};
    const auto make = [&] { return g.allocate(dtype::f32, extents).value().transpose(); };
    a = make();
    out = make();
    other = make();
    const std::vector<float> numbers = matrix(n, count);
    b = g.allocate(dtype::f32, count == 1 ? shape{n, 1} : shape{count, n, 1}).value();
    g.copy(std::span<const float>(numbers), a.transpose()).get();
    g.copy(std::span<const float>(numbers).first(static_cast<std::size_t>(n * count)), b).get();
    stream.copy(raw_a.address(), numbers.data(), bytes);
    stream.copy(raw_b.address(), numbers.data(),
                static_cast<std::size_t>(n * count) * sizeof(float));
    stream.synchronize();
  }
  static std::size_t size(std::int64_t n, std::int64_t count) {
    return static_cast<std::size_t>(n * n * count) * sizeof(float);
  }
};

struct bench_run {
  report& out;
  device gpu;
  raw::stream& stream;
  raw::solver& solver;
  library_actor lane = gpu.library("solver");

  template <class Request>
  void measure(const std::string& name, operands& data, routine what, std::int64_t n,
               const Request& request) {
    section(out, name, [&] {
      auto times = take_in_turn(
          few,
          [&] {
            stream.copy(data.raw_out.address(), data.raw_a.address(), data.bytes);
            solver.run(what, n, data.raw_out.address());
            stream.synchronize();
          },
          [&] { lane.ask(request).get(); });
      add_times(out, times, {.name = name, .reference = "cuSOLVER"});
    });
  }
  template <class Request>
  void measure(const std::string& name, operands& data, batch what, int n, int count,
               const Request& request) {
    section(out, name, [&] {
      auto times = take_in_turn(
          few,
          [&] {
            stream.copy(data.raw_out.address(), data.raw_a.address(), data.bytes);
            solver.run(what, n, count, data.raw_out.address(), data.raw_b.address());
            stream.synchronize();
          },
          [&] { lane.ask(request).get(); });
      add_times(out, times, {.name = name, .reference = "cuSOLVER, cuBLAS"});
    });
  }

  void dense() {
    constexpr std::int64_t n = 4096;
    operands data(gpu, stream, n);
    const auto pivots = gpu.tensor<std::int64_t>({n}).value();
    const auto tau = gpu.tensor<float>({n}).value();
    measure("LU, f32 4096", data, routine::getrf, n,
            solver::getrf{.a = data.a, .lu = data.out, .pivots = pivots});
    measure("Cholesky, f32 4096", data, routine::potrf, n,
            solver::potrf{.a = data.a, .factor = data.out});
    measure("QR, f32 4096", data, routine::geqrf, n,
            solver::geqrf{.a = data.a, .qr = data.out, .tau = tau});
  }

  void spectra() {
    constexpr std::int64_t n = 2048;
    operands data(gpu, stream, n);
    const auto values = gpu.tensor<float>({n}).value();
    measure("eigh, f32 2048", data, routine::syevd, n,
            solver::eigh{.a = data.a, .w = values, .v = data.out});
    measure("singular values, f32 2048", data, routine::gesvdj, n,
            solver::svd{.a = data.a, .s = values, .vectors = solver::singular_vectors::none});
  }

  void batches() {
    constexpr int n = 32;
    constexpr int count = 10'000;
    operands data(gpu, stream, n, count);
    const auto x = gpu.allocate(dtype::f32, {count, n, 1}).value();
    const auto values = gpu.tensor<float>({count, n}).value();
    measure("10 000 solves, f32 32", data, batch::solve, n, count,
            solver::gesv{.a = data.a, .b = data.b, .x = x});
    measure("10 000 eigh, f32 32", data, batch::syev, n, count,
            solver::eigh{.a = data.a, .w = values, .v = data.out});
    measure("10 000 svd, f32 32", data, batch::gesvdj, n, count,
            solver::svd{.a = data.a, .s = values, .u = data.out, .vh = data.other});
  }

  /// Markers and small vectors of another lane, without and with a singular value decomposition.
  void beside_a_call() {
    constexpr std::int64_t n = 4096;
    operands data(gpu, stream, n);
    const auto values = gpu.tensor<float>({n}).value();
    const auto x = gpu.tensor<float>({1'000}).value();
    const auto y = gpu.tensor<float>({1'000}).value();
    const library_actor other = gpu.library("blas").on_new_lane();
    const solver::svd call{.a = data.a, .s = values, .vectors = solver::singular_vectors::none};
    const auto small = [&](const std::string& name, auto&& work) {
      samples idle;
      idle.take(2'000, work);
      samples beside;
      int calls = 0;
      const auto begin = clock::now();
      double spent = 0;
      while (calls < 3) {
        auto waits = lane.ask(call);
        ++calls;
        while (!waits.ready())
          beside.take(20, work);
        waits.get();
      }
      spent = std::chrono::duration<double, std::micro>(clock::now() - begin).count() / calls;
      out.add({name + " beside svd f32 4096, p50", beside.median(), "us", "alone", idle.median()});
      out.add({name + " beside svd f32 4096, p99", beside.p99(), "us", "alone", idle.p99()});
      out.add(
          {name + " beside svd f32 4096, longest", beside.percentile(1), "us", "the svd", spent});
    };
    lane.ask(call).get();
    section(out, "marker", [&] { small("marker", [&] { other.ask(lane::marker{}).get(); }); });
    section(out, "axpy", [&] {
      small("axpy of 1 000", [&] { other.ask(blas::axpy{.x = x, .y = y, .alpha = 1}).get(); });
    });
  }
};

}  // namespace

int main() {
  const std::string name = raw::open_device();
  report out("solver: factorisations on a GPU, " + name);
  troupe::system system;
  const device gpu = system.device(0);
  wait_until_settled(gpu, true);
  raw::stream stream;
  raw::solver solver(stream);
  bench_run all{.out = out, .gpu = gpu, .stream = stream, .solver = solver};
  all.dense();
  all.spectra();
  all.batches();
  all.beside_a_call();
  return out.finish();
}
