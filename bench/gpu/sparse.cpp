// The cost of products with a sparse matrix through Troupe on a GPU, beside cuSPARSE called
// directly on the same matrix, and beside kernels that only read the operands of a product.

#include "gpu/raw/raw_sparse.hpp"
#include "gpu/raw/raw_sparse_reads.hpp"
#include "random_numbers.hpp"
#include "side_by_side.hpp"
#include "sparse_patterns.hpp"

#include <troupe/sparse.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <tuple>
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

  /// One product at a time, and a train of them, each enqueued while others run. `bytes`: the
  /// traffic if each element is read and each result written once.
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
      add_times(out, times, {.name = name, .reference = "cuSPARSE"});
    });
    const std::string each = name + ", each of a train";
    section(out, each, [&] {
      constexpr int length = 20;
      auto times = take_in_turn(
          {.blocks = 6, .warm_up = 1, .per_block = 4, .moves = false},
          [&] {
            for (int i = 0; i < length; ++i)
              theirs();
            stream.synchronize();
          },
          [&] {
            for (int i = 1; i < length; ++i)
              lane.tell(request).value();
            lane.ask(request).get();
          });
      add_times(out, times,
                {.name = each, .reference = "cuSPARSE", .per_microsecond = 1.0 / length});
      add_rate(out, times, bytes * length / 1e9,
               {.name = each + ", of what has to move", .reference = "cuSPARSE", .unit = "GB/s"});
    });
  }

  template <class T>
  void products(const power_law& p, const std::string& type) {
    const auto count = static_cast<std::size_t>(p.elements());
    const auto side = static_cast<std::size_t>(p.n);
    const auto numbers = random_numbers<T>(count);
    constexpr std::int64_t columns = 32;
    const auto dense = random_numbers<T>(side * columns);
    using enum raw::memory::place;
    const raw::memory offsets(device, p.offsets.size() * 4);
    const raw::memory indices(device, count * 4);
    const raw::memory values(device, count * sizeof(T));
    const raw::memory from(device, side * columns * sizeof(T));
    const raw::memory to(device, side * columns * sizeof(T));
    fill(stream, offsets, p.offsets);
    fill(stream, indices, p.columns);
    fill(stream, values, numbers);
    fill(stream, from, dense);
    constexpr bool is_f64 = sizeof(T) == 8;
    raw::sparse direct(stream, {.n = p.n,
                                .elements = p.elements(),
                                .offsets = offsets.address(),
                                .columns = indices.address(),
                                .values = values.address(),
                                .is_f64 = is_f64});

    auto our_offsets = gpu.tensor<std::int32_t>({p.n + 1}).value();
    auto our_indices = gpu.tensor<std::int32_t>({p.elements()}).value();
    auto our_values = gpu.tensor<T>({p.elements()}).value();
    auto b = gpu.tensor<T>({p.n, columns}).value();
    auto c = gpu.tensor<T>({p.n, columns}).value();
    auto x = gpu.tensor<T>({p.n}).value();
    auto y = gpu.tensor<T>({p.n}).value();
    gpu.copy(std::span(p.offsets), our_offsets).get();
    gpu.copy(std::span(p.columns), our_indices).get();
    gpu.copy(std::span(numbers), our_values).get();
    gpu.copy(std::span(dense), b).get();
    gpu.copy(std::span(dense).first(side), x).get();
    const auto a = sparse_matrix::csr(p.n, our_offsets, our_indices, our_values);

    const double element = sizeof(T);
    const double rows_of_it = static_cast<double>(side);
    const double matrix_bytes = (4 + element) * static_cast<double>(count) + 4 * rows_of_it;
    section(out, "reads of spmv", [&] {
      samples taken;
      taken.take(50, [&] {
        for (int i = 0; i < 20; ++i)
          read_elements(
              stream, {indices.address(), values.address(), from.address(), p.elements(), is_f64});
        stream.synchronize();
      });
      out.add({"spmv " + type + ", its reads alone", taken.median() / 20, "us"});
    });
    measure(
        "spmv " + type, matrix_bytes + 2 * element * rows_of_it,
        [&] { direct.multiply(from.address(), to.address()); },
        sparse::spmv{.a = a, .x = x, .y = y});
    measure(
        "spmm " + type + ", 32 columns", matrix_bytes + 2 * element * columns * rows_of_it,
        [&] { direct.multiply(from.address(), to.address(), columns); },
        sparse::spmm{.a = a, .b = b, .c = c});
    if (is_f64) return;  // the rest looks at the pattern
    section(out, "validate", [&] {
      samples taken;
      taken.take(50, [&] { lane.ask(sparse::validate{.a = a}).get(); });
      out.add({"validate", taken.median(), "us"});
    });
    section(out, "convert to csc", [&] {
      auto starts = gpu.tensor<std::int32_t>({p.n + 1}).value();
      auto places = gpu.tensor<std::int32_t>({p.elements()}).value();
      auto copied = gpu.tensor<T>({p.elements()}).value();
      const sparse::convert turned{.a = a, .b = sparse_matrix::csc(p.n, starts, places, copied)};
      samples taken;
      taken.take(20, [&] { (void)lane.ask(turned).get(); });
      out.add({"convert csr to csc", taken.median(), "us"});
    });
  }

  /// The same matrix of 4 × 4 blocks in csr, bsr and sliced ELL.
  template <class T>
  void formats(const row_blocks& p, const std::string& type) {
    const auto x = gpu.tensor<T>({p.n}).value();
    const auto y = gpu.tensor<T>({p.n}).value();
    gpu.copy(std::span<const T>(random_numbers<T>(static_cast<std::size_t>(p.n))), x).get();
    using enum raw::memory::place;
    const raw::memory from(device, static_cast<std::size_t>(p.n) * sizeof(T));
    const raw::memory to(device, static_cast<std::size_t>(p.n) * sizeof(T));
    fill(stream, from, random_numbers<T>(static_cast<std::size_t>(p.n)));
    const auto numbers = random_numbers<T>(static_cast<std::size_t>(p.elements()));
    for (const auto& [format, name, pattern] :
         {std::tuple{sparse_format::csr, "csr", p.csr()},
          std::tuple{sparse_format::bsr, "bsr", p.bsr()},
          std::tuple{sparse_format::sliced_ell, "sliced ELL", p.sliced_ell()}}) {
      const raw::memory offsets(device, pattern.offsets.size() * 4);
      const raw::memory indices(device, pattern.indices.size() * 4);
      const raw::memory values(device, numbers.size() * sizeof(T));
      fill(stream, offsets, pattern.offsets);
      fill(stream, indices, pattern.indices);
      fill(stream, values, numbers);
      const bool is_bsr = format == sparse_format::bsr;
      const bool is_sliced = format == sparse_format::sliced_ell;
      raw::sparse direct(stream, {.n = p.n,
                                  .elements = p.elements(),
                                  .offsets = offsets.address(),
                                  .columns = indices.address(),
                                  .values = values.address(),
                                  .is_f64 = sizeof(T) == 8,
                                  .block = is_bsr ? row_blocks::block : 0,
                                  .slice_rows = is_sliced ? row_blocks::slice_rows : 0});

      const auto count = [](const auto& of) { return static_cast<std::int64_t>(of.size()); };
      const auto our_offsets = gpu.tensor<std::int32_t>({count(pattern.offsets)}).value();
      const auto our_indices = gpu.tensor<std::int32_t>({count(pattern.indices)}).value();
      const auto our_values = gpu.tensor<T>({p.elements()}).value();
      gpu.copy(std::span(pattern.offsets), our_offsets).get();
      gpu.copy(std::span(pattern.indices), our_indices).get();
      gpu.copy(std::span(numbers), our_values).get();
      constexpr std::int64_t side = row_blocks::block;
      const auto a = is_bsr ? sparse_matrix::bsr(
                                  p.n, our_offsets, our_indices,
                                  our_values.reshape({count(pattern.indices), side, side}).value())
                     : is_sliced ? sparse_matrix::sliced_ell(p.n, p.n, row_blocks::slice_rows,
                                                             our_offsets, our_indices, our_values)
                                 : sparse_matrix::csr(p.n, our_offsets, our_indices, our_values);
      const double bytes =
          4.0 * static_cast<double>(count(pattern.offsets) + count(pattern.indices)) +
          static_cast<double>(sizeof(T)) * static_cast<double>(p.elements() + 2 * p.n);
      measure(
          std::string("spmv of 4 x 4 blocks in ") + name + ", " + type, bytes,
          [&] { direct.multiply(from.address(), to.address()); },
          sparse::spmv{.a = a, .x = x, .y = y});
    }
  }
};

}  // namespace

int main() {
  const std::string name = raw::open_device();
  report out("sparse: products of matrices of 10^7 elements on a GPU, " + name);
  troupe::system system;
  const device gpu = system.device(0);
  wait_until_settled(gpu, true);
  raw::stream stream;
  bench_run all{.out = out, .gpu = gpu, .stream = stream};
  const power_law p(rows, elements);
  all.products<float>(p, "f32");
  all.products<double>(p, "f64");
  const row_blocks blocks(1 << 19, 8);
  all.formats<float>(blocks, "f32");
  all.formats<double>(blocks, "f64");
  return out.finish();
}
