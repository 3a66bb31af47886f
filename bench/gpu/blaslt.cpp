// The cost of products with an epilogue through Troupe, beside cuBLASLt called directly with the
// same choice of kernel on the same data; and the gain of measuring that choice.

#include "fresh_contexts.hpp"
#include "gpu/raw/raw_blaslt.hpp"
#include "random_numbers.hpp"
#include "side_by_side.hpp"

#include <troupe/blaslt/matmul.hpp>
#include <troupe/lane/marker.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr std::size_t window = 64;  // products in flight

struct extents {
  std::int64_t m, n, k;
};

/// Row-major a and d, column-major b, a bias; on both sides.
template <class T>
class operands {
 public:
  operands(const device& gpu, raw::stream& stream, const extents& size)
      : gpu_(gpu),
        size_(size),
        raw_a_(raw::memory::place::device, count(size.m, size.k) * sizeof(T)),
        raw_b_(raw::memory::place::device, count(size.n, size.k) * sizeof(T)),
        raw_bias_(raw::memory::place::device, count(size.n, 1) * sizeof(bf16)),
        raw_d_(raw::memory::place::device, count(size.m, size.n) * sizeof(bf16)),
        a_(gpu_.tensor<T>({size.m, size.k}).value()),
        b_stored_(gpu_.tensor<T>({size.n, size.k}).value()),
        bias_(gpu_.tensor<bf16>({size.n}).value()),
        d_(gpu_.tensor<bf16>({size.m, size.n}).value()) {
    fill(stream, raw_a_, a_, count(size.m, size.k));
    fill(stream, raw_b_, b_stored_, count(size.n, size.k));
    fill(stream, raw_bias_, bias_, count(size.n, 1));
  }

  [[nodiscard]] blaslt::matmul request(bool gelu_bias, blaslt::tuning tuning) const {
    blaslt::matmul made{.a = a_, .b = b_stored_.transpose(), .d = d_, .tuning = tuning};
    if (gelu_bias) {
      made.epilogue = blaslt::epilogue::gelu_bias;
      made.bias = bias_;
    }
    return made;
  }
  void multiply(raw::matmul& by) const {
    by.run(raw_a_.address(), raw_b_.address(), raw_bias_.address(), raw_d_.address());
  }

  /// The largest difference of the two results, as a part of the largest element.
  [[nodiscard]] double difference(raw::stream& stream) {
    const std::size_t elements = count(size_.m, size_.n);
    std::vector<bf16> theirs(elements);
    std::vector<bf16> ours(elements);
    stream.copy(theirs.data(), raw_d_.address(), elements * sizeof(bf16));
    stream.synchronize();
    gpu_.copy(d_, std::span(ours)).get();
    double largest = 0;
    double apart = 0;
    for (std::size_t i = 0; i < elements; ++i) {
      const auto x = static_cast<double>(static_cast<float>(theirs[i]));
      const auto y = static_cast<double>(static_cast<float>(ours[i]));
      if (!std::isfinite(x) || !std::isfinite(y)) return INFINITY;
      largest = std::max(largest, std::abs(x));
      apart = std::max(apart, std::abs(x - y));
    }
    return apart / largest;
  }

 private:
  static std::size_t count(std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(rows * columns);
  }
  template <class E>
  void fill(raw::stream& stream, raw::memory& theirs, tensor<E>& ours, std::size_t elements) {
    const std::vector<E> data = random_numbers<E>(elements);
    stream.copy(theirs.address(), data.data(), elements * sizeof(E));
    gpu_.copy(std::span(data), ours).get();
    stream.synchronize();
  }

  device gpu_;
  extents size_;
  raw::memory raw_a_;
  raw::memory raw_b_;
  raw::memory raw_bias_;
  raw::memory raw_d_;
  tensor<T> a_;
  tensor<T> b_stored_;
  tensor<bf16> bias_;
  tensor<bf16> d_;
};

/// Several, so that where one of them lies in memory decides nothing: a kernel of a few
/// microseconds takes a tenth more or less by that.
template <class T>
class operand_sets {
 public:
  operand_sets(const device& gpu, raw::stream& stream, const extents& size) {
    constexpr std::int64_t elements = std::int64_t{1} << 25;  // in all sets, if that is not too few
    const auto count = std::clamp<std::int64_t>(
        elements / (size.m * size.k + size.k * size.n + size.m * size.n), 4, 32);
    for (std::int64_t i = 0; i < count; ++i)
      sets_.push_back(std::make_unique<operands<T>>(gpu, stream, size));
  }
  [[nodiscard]] const operands<T>& operator[](std::size_t i) const {
    return *sets_[i % sets_.size()];
  }
  [[nodiscard]] std::size_t size() const noexcept { return sets_.size(); }
  [[nodiscard]] double difference(raw::stream& stream) const {
    double apart = 0;
    for (const auto& set : sets_)
      apart = std::max(apart, set->difference(stream));
    return apart;
  }

 private:
  std::vector<std::unique_ptr<operands<T>>> sets_;
};

double operations_of(const extents& size) {
  return 2.0 * static_cast<double>(size.m) * static_cast<double>(size.n) *
         static_cast<double>(size.k);
}

template <class T>
void measure_large(report& out, const device& gpu, raw::element type, const std::string& name) {
  constexpr extents size{8192, 8192, 8192};
  constexpr std::size_t loop = 12;
  raw::stream stream;
  raw::matmul plain(stream, type, size.m, size.n, size.k, true);
  const operand_sets<T> sets(gpu, stream, size);
  const library_actor lane = gpu.library("blaslt");
  auto times = take_in_turn(
      {.blocks = 60, .warm_up = 1, .per_block = 2},
      [&] {
        for (std::size_t i = 0; i < loop; ++i)
          sets[i].multiply(plain);
        stream.synchronize();
      },
      [&] {
        pipeline(loop, window, [&](std::size_t i) {
          return lane.ask(sets[i].request(true, blaslt::tuning::heuristic));
        });
      });
  const std::string what = fmt::format("matmul {} 8192^3 with bias and gelu", name);
  add_rate(out, times, operations_of(size) * static_cast<double>(loop) * 1e-12,
           {.name = what,
            .reference = "cublasLtMatmul",
            .unit = "TFLOP/s",
            .median = ratio_at_least(0.99)});
  out.add(
      {what + ", largest relative difference", sets.difference(stream), "", "", {}, at_most(1e-2)});
}

/// The findings for small products of one size, in all contexts.
struct found {
  std::int64_t n;
  side_by_side times{};
  double apart = 0;
};

void measure_small(const device& gpu, found& into) {
  const std::int64_t n = into.n;
  raw::stream stream;
  raw::matmul plain(stream, raw::element::bf16, n, n, n, true);
  const operand_sets<bf16> sets(gpu, stream, {n, n, n});
  // Made before, as cuBLASLt's descriptions are.
  std::vector<blaslt::matmul> requests;
  requests.reserve(sets.size());
  for (std::size_t i = 0; i < sets.size(); ++i)
    requests.push_back(sets[i].request(true, blaslt::tuning::heuristic));
  const library_actor lane = gpu.library("blaslt");
  std::size_t turn = 0;
  side_by_side here = take_in_turn(
      {.blocks = 10, .warm_up = 20, .per_block = 400},
      [&] {
        sets[turn++].multiply(plain);
        stream.synchronize();
      },
      [&] { lane.ask(requests[turn++ % requests.size()]).get(); });
  print_context(fmt::format("n={}", n), here);
  into.times += here;
  into.apart = std::max(into.apart, sets.difference(stream));
}

void measure_all_small(report& out) {
  std::vector<found> results{{64}, {128}, {256}, {512}};
  in_fresh_contexts(6, [&](const device& gpu) {
    for (found& one : results)
      measure_small(gpu, one);
  });
  for (found& one : results) {
    const std::string what = fmt::format("matmul bf16 n={} with bias and gelu", one.n);
    add_times(out, one.times,
              {.name = what + ", with reply",
               .reference = "cublasLtMatmul + synchronize",
               .median = ratio_at_most(1.08)});
    out.add({what + ", largest relative difference", one.apart, "", "", {}, at_most(1e-2)});
  }
}

/// The kernel that was measured, beside the heuristic's; the ratio of their rates.
double measure_tuned(report& out, const device& gpu, const extents& size) {
  raw::stream stream;
  const operand_sets<bf16> sets(gpu, stream, size);
  const library_actor lane = gpu.library("blaslt");
  const double work = operations_of(size);
  // About 2 ms at 600 TFLOP/s.
  const auto loop = static_cast<std::size_t>(std::clamp(1.2e12 / work, 4.0, 256.0));
  const auto run = [&](blaslt::tuning tuning) {
    for (std::size_t i = 0; i < loop; ++i)
      lane.tell(sets[i].request(true, tuning)).value();
    lane.ask(troupe::lane::marker{}).get();
  };
  auto times = take_in_turn(
      {.blocks = 60, .warm_up = 1, .per_block = 4}, [&] { run(blaslt::tuning::heuristic); },
      [&] { run(blaslt::tuning::timed); });
  add_rate(out, times, work * static_cast<double>(loop) * 1e-12,
           {.name = fmt::format("matmul bf16 {}x{}x{}, measured choice", size.m, size.n, size.k),
            .reference = "the heuristic's",
            .unit = "TFLOP/s",
            .median = ratio_at_least(0.99)});
  return 1 / times.ratio().value();
}

void measure_all_tuned(report& out, const device& gpu) {
  // Tokens × (attention's and the two linear layers' outputs) × inputs of transformers from small
  // to large, and of batches from one token on.
  constexpr extents shapes[] = {
      {1, 4096, 4096},    {1, 11008, 4096},    {16, 4096, 4096},    {16, 4096, 11008},
      {64, 6144, 2048},   {128, 3072, 768},    {128, 768, 3072},    {256, 12288, 4096},
      {512, 2304, 768},   {512, 768, 768},     {512, 5120, 1280},   {1024, 4096, 1024},
      {1024, 1024, 4096}, {2048, 6144, 2048},  {2048, 8192, 2048},  {2048, 2048, 8192},
      {4096, 4096, 4096}, {4096, 12288, 4096}, {4096, 11008, 4096}, {8192, 10240, 8192},
  };
  double logarithms = 0;
  for (const extents& size : shapes)
    logarithms += std::log(measure_tuned(out, gpu, size));
  const double mean = std::exp(logarithms / static_cast<double>(std::size(shapes)));
  out.add({"measured choice, geometric mean of 20 shapes", mean, "", "the heuristic's", 1.0,
           ratio_at_least(1.0)});
}

}  // namespace

int main() {
  report out("gpu_blaslt: products with an epilogue, beside cuBLASLt called directly");
  // Measures without the choices that an earlier run has stored.
  std::string folder = (std::filesystem::temp_directory_path() / "troupe-bench-XXXXXX").string();
  if (::mkdtemp(folder.data()) != nullptr) {
    ::setenv("XDG_CACHE_HOME", folder.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  section(out, "bf16 small", [&] { measure_all_small(out); });
  section(out, "everything else", [&] {
    in_fresh_contexts(1, [&](const device& gpu) {
      section(out, "bf16 8192", [&] { measure_large<bf16>(out, gpu, raw::element::bf16, "bf16"); });
      section(out, "e4m3 8192", [&] { measure_large<e4m3>(out, gpu, raw::element::e4m3, "e4m3"); });
      section(out, "measured choices", [&] { measure_all_tuned(out, gpu); });
    });
  });
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return out.finish();
}
