// Factorisations on the CPU backend, beside the same LAPACK called directly on the same matrix.

#include "libraries/solver/cpu/lapack.hpp"
#include "placement.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <troupe/device/device.hpp>
#include <troupe/solver.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;
using routine = cpu::solver_lapack<double>;

/// A matrix of both sides, column-major: symmetric and positive definite, so that every routine
/// takes it.
std::vector<double> definite(std::int64_t n) {
  std::mt19937_64 random(20261125);
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<double> a(static_cast<std::size_t>(n * n));
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i <= j; ++i)
      a[static_cast<std::size_t>(i + j * n)] = a[static_cast<std::size_t>(j + i * n)] =
          number(random);
    a[static_cast<std::size_t>(j * (n + 1))] += static_cast<double>(n);
  }
  return a;
}

/// Both in turn, on other processors each time; the rates of the middle half. A turn takes more
/// than 100 ms: the next rival finds its processor slow and its caches cold.
template <class Theirs, class Ours>
void measure(report& out, const std::string& name, Theirs&& theirs, Ours&& ours) {
  constexpr int turns = 20;
  samples first;
  first.take(3, theirs);
  const auto loop = std::max<std::size_t>(1, static_cast<std::size_t>(1e5 / first.median()));
  samples direct;
  samples own;
  samples quotients;
  bench::placement processors;
  ours();
  for (int turn = 0; turn < turns; ++turn) {
    processors.trade();
    samples calls;
    samples asks;
    if (turn % 4 < 2) calls.take(loop, theirs);
    asks.take(loop, ours);
    if (turn % 4 >= 2) calls.take(loop, theirs);
    quotients.add(calls.median() / asks.median());
    direct.add(calls);
    own.add(asks);
  }
  out.add({name, 1e6 / own.middle(), "1/s", "LAPACK called directly", 1e6 / direct.middle(),
           ratio_at_least(0.97), quotients.middle()});
}

class bench_of_size {
 public:
  bench_of_size(report& out, device cpu, std::int64_t n)
      : out_(out),
        lane_(cpu.library("solver")),
        n_(n),
        matrix_(definite(n)),
        a_(square(cpu)),
        result_(square(cpu)),
        other_(square(cpu)),
        values_(cpu.tensor<double>({n}).value()),
        pivots_(cpu.tensor<std::int64_t>({n}).value()),
        work_(static_cast<std::size_t>(n * n)),
        left_(work_.size()),
        right_(work_.size()),
        vector_(static_cast<std::size_t>(n)),
        integers_(static_cast<std::size_t>(8 * n)) {
    // The view is transposed, and the matrix symmetric.
    cpu.copy(std::span<const double>(matrix_), a_.transpose()).get();
  }

  void run() {
    const std::string size = " f64 " + std::to_string(n_);
    measure(
        out_, "getrf" + size,
        [&] {
          fill();
          routine::getrf(&n_, &n_, work_.data(), &n_, integers_.data(), &info_);
        },
        [&] { lane_.ask(solver::getrf{.a = a_, .lu = result_, .pivots = pivots_}).get(); });
    measure(
        out_, "potrf" + size,
        [&] {
          fill();
          routine::potrf("L", &n_, work_.data(), &n_, &info_, 1);
        },
        [&] { lane_.ask(solver::potrf{.a = a_, .factor = result_}).get(); });
    with_space([&](double* space, const blasint& length) {
      routine::geqrf(&n_, &n_, work_.data(), &n_, vector_.data(), space, &length, &info_);
    });
    measure(
        out_, "geqrf" + size, [&] { call(); },
        [&] { lane_.ask(solver::geqrf{.a = a_, .qr = result_, .tau = values_}).get(); });
    with_space([&](double* space, const blasint& length) {
      routine::gesdd("S", &n_, &n_, work_.data(), &n_, vector_.data(), left_.data(), &n_,
                     right_.data(), &n_, space, &length, integers_.data(), &info_, 1);
    });
    measure(
        out_, "gesdd, thin vectors" + size, [&] { call(); },
        [&] { lane_.ask(solver::svd{.a = a_, .s = values_, .u = result_, .vh = other_}).get(); });
    std::vector<blasint> more(static_cast<std::size_t>(5 * n_ + 10));
    const auto wanted = static_cast<blasint>(more.size());
    with_space([&](double* space, const blasint& length) {
      const blasint query = -1;
      routine::heevd("V", "L", &n_, work_.data(), &n_, vector_.data(), space, &length, more.data(),
                     length < 0 ? &query : &wanted, &info_, 1, 1);
    });
    measure(
        out_, "syevd, vectors" + size, [&] { call(); },
        [&] { lane_.ask(solver::eigh{.a = a_, .w = values_, .v = result_}).get(); });
  }

 private:
  [[nodiscard]] any_tensor square(device& cpu) const {
    return any_tensor(cpu.tensor<double>({n_, n_}).value()).transpose();
  }
  /// As a request does, whose input is kept.
  void fill() { std::ranges::copy(matrix_, work_.begin()); }
  void with_space(std::function<void(double*, const blasint&)> routine_with_space) {
    routine_ = std::move(routine_with_space);
    double best = 0;
    routine_(&best, -1);
    space_.assign(static_cast<std::size_t>(best) + 1, 0.0);
  }
  void call() {
    fill();
    routine_(space_.data(), static_cast<blasint>(space_.size()));
  }

  report& out_;
  library_actor lane_;
  std::int64_t n_;
  std::vector<double> matrix_;
  any_tensor a_;
  any_tensor result_;
  any_tensor other_;
  any_tensor values_;
  any_tensor pivots_;
  std::vector<double> work_;
  std::vector<double> left_;
  std::vector<double> right_;
  std::vector<double> vector_;
  std::vector<double> space_;
  std::vector<blasint> integers_;
  blasint info_ = 0;
  std::function<void(double*, const blasint&)> routine_;
};

}  // namespace

int main() {
  report out("solver: factorisations on the CPU backend, beside LAPACK called directly");
  // One thread on either side, which lie on a processor each. The worker reads it when it starts.
  ::openblas_set_num_threads(1);
  ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
  troupe::system system;
  const device cpu = system.device(0, {.backend = backend_kind::cpu});
  cpu.wait_until_ready().value();
  for (const std::int64_t n : {512, 1024})
    bench_of_size(out, cpu, n).run();
  return out.finish();
}
