// Products with sparse matrices on the CPU backend, beside Eigen's on the same matrix.

#include "placement.hpp"
#include "report.hpp"
#include "samples.hpp"
#include "sparse_patterns.hpp"

#include <troupe/device/device.hpp>
#include <troupe/sparse.hpp>

#include <Eigen/SparseCore>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr std::int64_t rows = 1'000'000;
constexpr std::int64_t elements = 10'000'000;

/// Both in turn, on other processors each time; the rates of the middle half.
template <class Theirs, class Ours>
void measure(report& out, const std::string& name, Theirs&& theirs, Ours&& ours) {
  constexpr int turns = 12;
  samples direct;
  samples own;
  samples quotients;
  bench::placement processors;
  ours();
  theirs();
  for (int turn = 0; turn < turns; ++turn) {
    processors.trade();
    samples calls;
    samples asks;
    if (turn % 4 < 2) calls.take(3, theirs);
    asks.take(3, ours);
    if (turn % 4 >= 2) calls.take(3, theirs);
    quotients.add(calls.median() / asks.median());
    direct.add(calls);
    own.add(asks);
  }
  out.add({name, 1e6 / own.middle(), "1/s", "Eigen", 1e6 / direct.middle(), ratio_at_least(1.0),
           quotients.middle()});
}

template <class T>
void products(report& out, device cpu, const power_law& p, const std::string& type) {
  const std::vector<T> numbers(static_cast<std::size_t>(p.elements()), T(0.5));
  auto offsets = cpu.tensor<std::int32_t>({p.n + 1}).value();
  auto columns = cpu.tensor<std::int32_t>({p.elements()}).value();
  auto values = cpu.tensor<T>({p.elements()}).value();
  cpu.copy(std::span(p.offsets), offsets).get();
  cpu.copy(std::span(p.columns), columns).get();
  cpu.copy(std::span(numbers), values).get();
  const sparse_matrix a = sparse_matrix::csr(p.n, offsets, columns, values);
  using matrix = Eigen::SparseMatrix<T, Eigen::RowMajor, std::int32_t>;
  const Eigen::Map<const matrix> theirs(p.n, p.n, p.elements(), p.offsets.data(), p.columns.data(),
                                        numbers.data());

  // Both read the factor at random places, and in the same memory: how large its pages are counts
  // for more than what either computes.
  auto x = cpu.host_tensor<T>({p.n}).value();
  auto y = cpu.tensor<T>({p.n}).value();
  std::ranges::fill(x.elements(), T(1));
  using vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  const Eigen::Map<const vector> their_x(x.data(), p.n);
  vector their_y(p.n);
  const library_actor lane = cpu.library("sparse");
  measure(
      out, "spmv " + type, [&] { their_y.noalias() = theirs * their_x; },
      [&] { lane.ask(sparse::spmv{.a = a, .x = x, .y = y}).get(); });

  constexpr std::int64_t n = 8;
  auto b = cpu.host_tensor<T>({p.n, n}).value();
  std::ranges::fill(b.elements(), T(1));
  auto c = cpu.tensor<T>({p.n, n}).value();
  using dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const dense> their_b(b.data(), p.n, n);
  dense their_c(p.n, n);
  measure(
      out, "spmm " + type + ", 8 columns", [&] { their_c.noalias() = theirs * their_b; },
      [&] { lane.ask(sparse::spmm{.a = a, .b = b, .c = c}).get(); });
}

}  // namespace

int main() {
  report out("sparse: products of a power-law matrix of 10^7 elements on the CPU");
  troupe::system system;
  device cpu = system.device(0);
  const power_law p(rows, elements);
  products<float>(out, cpu, p, "f32");
  products<double>(out, cpu, p, "f64");
  return out.finish();
}
