// The cost of matrix products through Troupe, beside cuBLAS called directly on the same data; and
// whether both give the same numbers.

#include "gpu/raw/raw.hpp"
#include "random_numbers.hpp"
#include "side_by_side.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/lane/marker.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr std::size_t window = 64;  // products in flight

/// Two factors and a product, on both sides.
template <class T>
class operands {
 public:
  operands(const device& gpu, raw::stream& stream, std::int64_t n)
      : gpu_(gpu),
        count_(static_cast<std::size_t>(n * n)),
        raw_a(raw::memory::place::device, count_ * sizeof(T)),
        raw_b(raw::memory::place::device, count_ * sizeof(T)),
        raw_c(raw::memory::place::device, count_ * sizeof(T)),
        a(gpu_.tensor<T>({n, n}).value()),
        b(gpu_.tensor<T>({n, n}).value()),
        c(gpu_.tensor<T>({n, n}).value()) {
    for (const auto& [plain, ours] : {std::pair(&raw_a, &a), std::pair(&raw_b, &b)}) {
      const std::vector<T> data = random_numbers<T>(count_);
      stream.copy(plain->address(), data.data(), count_ * sizeof(T));
      gpu_.copy(std::span(data), *ours).get();
      stream.synchronize();
    }
  }

  [[nodiscard]] blas::gemm product() const { return {.a = a, .b = b, .c = c}; }

  /// The largest difference of the two products, as a part of the largest element.
  [[nodiscard]] double difference(raw::stream& stream) {
    std::vector<T> theirs(count_);
    std::vector<T> ours(count_);
    stream.copy(theirs.data(), raw_c.address(), count_ * sizeof(T));
    stream.synchronize();
    gpu_.copy(c, std::span(ours)).get();
    double largest = 0;
    double apart = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const auto x = static_cast<double>(static_cast<float>(theirs[i]));
      const auto y = static_cast<double>(static_cast<float>(ours[i]));
      if (!std::isfinite(x) || !std::isfinite(y)) return INFINITY;
      largest = std::max(largest, std::abs(x));
      apart = std::max(apart, std::abs(x - y));
    }
    return apart / largest;
  }

 private:
  device gpu_;
  std::size_t count_;

 public:
  raw::memory raw_a;
  raw::memory raw_b;
  raw::memory raw_c;
  tensor<T> a;
  tensor<T> b;
  tensor<T> c;
};

/// Several, so that where one of them lies in memory decides nothing.
template <class T>
class operand_sets {
 public:
  operand_sets(const device& gpu, raw::stream& stream, std::int64_t n) {
    sets_.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
      sets_.push_back(std::make_unique<operands<T>>(gpu, stream, n));
  }

  [[nodiscard]] const operands<T>& operator[](std::size_t i) const { return *sets_[i % count]; }
  [[nodiscard]] double difference(raw::stream& stream) const {
    double apart = 0;
    for (const auto& set : sets_)
      apart = std::max(apart, set->difference(stream));
    return apart;
  }

 private:
  static constexpr std::size_t count = 4;

  std::vector<std::unique_ptr<operands<T>>> sets_;
};

struct sgemm_case {
  int n;
  repetitions latency;
  int loop;  // products of a pipelined run
  double at_most;
};

void measure_sgemm(report& out, const device& gpu, const sgemm_case& what) {
  raw::stream stream;
  raw::cublas handle(stream);
  const operand_sets<float> sets(gpu, stream, what.n);
  const library_actor blas = gpu.library("blas");
  const auto multiply = [&](std::size_t i) {
    const operands<float>& o = sets[i];
    handle.multiply(what.n, o.raw_a.address(), o.raw_b.address(), o.raw_c.address());
  };
  const auto ask = [&](std::size_t i) { return blas.ask(sets[i].product()); };

  std::size_t turn = 0;
  auto single = take_in_turn(
      what.latency,
      [&] {
        multiply(turn++);
        stream.synchronize();
      },
      [&] { ask(turn++).get(); });
  const std::string name = fmt::format("sgemm n={}", what.n);
  add_times(out, single,
            {.name = name + ", with reply",
             .reference = "cublasSgemm + synchronize",
             .median = ratio_at_most(what.at_most)});

  const auto count = static_cast<std::size_t>(what.loop);
  auto many = take_in_turn(
      {.blocks = what.n < 1024 ? 40 : 20, .warm_up = 1, .per_block = 1},
      [&] {
        for (std::size_t i = 0; i < count; ++i)
          multiply(i);
        stream.synchronize();
      },
      [&] {
        for (std::size_t i = 0; i < count; ++i)
          blas.tell(sets[i].product()).value();
        blas.ask(lane::marker{}).get();
      });
  add_times(out, many,
            {.name = name + ", pipelined",
             .reference = "cublasSgemm in a loop",
             .per_microsecond = 1.0 / what.loop,
             .median = ratio_at_most(1.05)});

  out.add(
      {name + ", largest relative difference", sets.difference(stream), "", "", {}, at_most(1e-5)});
}

template <class T>
void measure_half(report& out, const device& gpu, raw::half type, const std::string& name) {
  constexpr int n = 8192;
  constexpr std::size_t loop = 12;
  raw::stream stream;
  raw::cublas handle(stream);
  const operand_sets<T> sets(gpu, stream, n);
  const library_actor blas = gpu.library("blas");
  auto times = take_in_turn(
      {.blocks = 60, .warm_up = 1, .per_block = 2},
      [&] {
        for (std::size_t i = 0; i < loop; ++i) {
          const operands<T>& o = sets[i];
          handle.multiply(type, n, o.raw_a.address(), o.raw_b.address(), o.raw_c.address());
        }
        stream.synchronize();
      },
      [&] { pipeline(loop, window, [&](std::size_t i) { return blas.ask(sets[i].product()); }); });
  const double work = 2.0 * n * n * n * static_cast<double>(loop) * 1e-12;
  add_rate(out, times, work,
           {.name = "gemm " + name + " 8192^3",
            .reference = "cublasGemmEx",
            .unit = "TFLOP/s",
            .median = ratio_at_least(0.995)});
  out.add({"gemm " + name + " 8192^3, largest relative difference",
           sets.difference(stream),
           "",
           "",
           {},
           at_most(1e-2)});
}

}  // namespace

int main() {
  report out("gpu_blas: matrix products through Troupe, beside cuBLAS called directly");
  section(out, "everything", [&] {
    fmt::print("{}\n", raw::open_device());
    troupe::system system;
    const device gpu = system.device(0, {.backend = backend_kind::cuda, .full = when_full::wait});
    wait_until_settled(gpu, true);
    for (const sgemm_case& one : {
             sgemm_case{32, {.blocks = 50, .warm_up = 20, .per_block = 400}, 4'000, 1.08},
             sgemm_case{128, {.blocks = 50, .warm_up = 20, .per_block = 400}, 4'000, 1.08},
             sgemm_case{512, {.blocks = 50, .warm_up = 20, .per_block = 200}, 2'000, 1.05},
             sgemm_case{1024, {.blocks = 50, .warm_up = 10, .per_block = 60}, 500, 1.02},
             sgemm_case{4096, {.blocks = 20, .warm_up = 2, .per_block = 10}, 20, 1.01},
         }) {
      section(out, fmt::format("sgemm n={}", one.n), [&] { measure_sgemm(out, gpu, one); });
    }
    section(out, "gemm f16", [&] { measure_half<f16>(out, gpu, raw::half::f16, "f16"); });
    section(out, "gemm bf16", [&] { measure_half<bf16>(out, gpu, raw::half::bf16, "bf16"); });
  });
  return out.finish();
}
