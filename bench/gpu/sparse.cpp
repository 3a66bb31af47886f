// What products with a sparse matrix cost through Troupe on a GPU, beside cuSPARSE called directly
// on the same matrix, and the share of the memory's bandwidth that they reach.

#include "gpu/raw/raw_sparse.hpp"
#include "power_law.hpp"
#include "random_numbers.hpp"
#include "side_by_side.hpp"

#include <troupe/sparse.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr std::int64_t rows = 1'000'000;
constexpr std::int64_t elements = 10'000'000;
constexpr repetitions few{.blocks = 8, .warm_up = 3, .per_block = 20, .moves = false};

/// Memory of the plain side with this content.
template <class T>
void fill(raw::stream& stream, const raw::memory& to, const std::vector<T>& from) {
  stream.copy(to.address(), from.data(), from.size() * sizeof(T));
  stream.synchronize();
}

struct bench_run {
  report& out;
  device gpu;
  raw::stream& stream;
  library_actor lane = gpu.library("sparse");

  /// `bytes`: what has to move if each element is read and each result written once.
  template <class Theirs, class Request>
  void measure(const std::string& name, double bytes, Theirs&& theirs, const Request& request) {
    section(out, name, [&] {
      auto times = take_in_turn(
          few,
          [&] {
            theirs();
            stream.synchronize();
          },
          [&] { lane.ask(request).get(); });
      out.add({name + ", of what has to move", bytes / times.ours.typical() / 1e3, "GB/s"});
      add_times(out, times, {.name = name, .reference = "cuSPARSE"});
    });
  }

  void products(const power_law& p) {
    const auto count = static_cast<std::size_t>(p.elements());
    const auto side = static_cast<std::size_t>(p.n);
    const auto numbers = random_numbers<float>(count);
    constexpr std::int64_t columns = 32;
    const auto dense = random_numbers<float>(side * columns);
    using enum raw::memory::place;
    const raw::memory offsets(device, p.offsets.size() * 4);
    const raw::memory indices(device, count * 4);
    const raw::memory values(device, count * 4);
    const raw::memory from(device, side * columns * 4);
    const raw::memory to(device, side * columns * 4);
    fill(stream, offsets, p.offsets);
    fill(stream, indices, p.columns);
    fill(stream, values, numbers);
    fill(stream, from, dense);
    raw::sparse direct(stream, {.n = p.n,
                                .elements = p.elements(),
                                .offsets = offsets.address(),
                                .columns = indices.address(),
                                .values = values.address()});

    auto our_offsets = gpu.tensor<std::int32_t>({p.n + 1}).value();
    auto our_indices = gpu.tensor<std::int32_t>({p.elements()}).value();
    auto our_values = gpu.tensor<float>({p.elements()}).value();
    auto b = gpu.tensor<float>({p.n, columns}).value();
    auto c = gpu.tensor<float>({p.n, columns}).value();
    auto x = gpu.tensor<float>({p.n}).value();
    auto y = gpu.tensor<float>({p.n}).value();
    gpu.copy(std::span(p.offsets), our_offsets).get();
    gpu.copy(std::span(p.columns), our_indices).get();
    gpu.copy(std::span(numbers), our_values).get();
    gpu.copy(std::span(dense), b).get();
    gpu.copy(std::span(dense).first(side), x).get();
    const auto a = sparse_matrix::csr(p.n, our_offsets, our_indices, our_values);

    const double matrix_bytes = 8.0 * static_cast<double>(count) + 4.0 * static_cast<double>(side);
    measure(
        "spmv f32", matrix_bytes + 8.0 * static_cast<double>(side),
        [&] { direct.multiply(from.address(), to.address()); },
        sparse::spmv{.a = a, .x = x, .y = y});
    measure(
        "spmm f32, 32 columns", matrix_bytes + 8.0 * columns * static_cast<double>(side),
        [&] { direct.multiply(from.address(), to.address(), columns); },
        sparse::spmm{.a = a, .b = b, .c = c});
    section(out, "validate", [&] {
      samples taken;
      taken.take(50, [&] { lane.ask(sparse::validate{.a = a}).get(); });
      out.add({"validate", taken.median(), "us"});
    });
    section(out, "convert to csc", [&] {
      auto starts = gpu.tensor<std::int32_t>({p.n + 1}).value();
      auto places = gpu.tensor<std::int32_t>({p.elements()}).value();
      auto copied = gpu.tensor<float>({p.elements()}).value();
      const sparse::convert turned{.a = a, .b = sparse_matrix::csc(p.n, starts, places, copied)};
      samples taken;
      taken.take(20, [&] { (void)lane.ask(turned).get(); });
      out.add({"convert csr to csc", taken.median(), "us"});
    });
  }
};

}  // namespace

int main() {
  const std::string name = raw::open_device();
  report out("sparse: products of a power-law matrix of 10^7 elements on a GPU, " + name);
  troupe::system system;
  const device gpu = system.device(0);
  wait_until_settled(gpu, true);
  raw::stream stream;
  bench_run all{.out = out, .gpu = gpu, .stream = stream};
  all.products(power_law(rows, elements));
  return out.finish();
}
