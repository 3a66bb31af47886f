// Elementwise functions through Troupe, beside a copy of the same bytes by CUDA, the limit of the
// memory. elementwise_torch.py measures PyTorch's times for the same, in the same run.

#include "gpu/raw/raw.hpp"
#include "random_numbers.hpp"
#include "side_by_side.hpp"

#include <troupe/elementwise.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;
using elementwise::function;
using elementwise::value;

constexpr int in_flight = 8;  ///< requests for each wait, so that the GPU is the bottleneck

/// Tensors of random numbers, and a copy of as many bytes as requests move.
class elementwise_bench {
 public:
  elementwise_bench(report& out, const device& gpu) : out_(out), gpu_(gpu) {}

  any_tensor random(dtype type, const shape& extents) {
    any_tensor made = gpu_.allocate(type, extents).value();
    const std::vector<float> numbers = random_numbers<float>(
        static_cast<std::size_t>(std::min<std::int64_t>(made.count(), 1 << 22)));
    const any_tensor few =
        gpu_.allocate(dtype::f32, {static_cast<std::int64_t>(numbers.size())}).value();
    gpu_.copy_in(dtype::f32, std::as_bytes(std::span(numbers)), few).get();
    const any_tensor flat = made.reshape({made.count()}).value();
    for (std::int64_t at = 0; at < made.count(); at += few.count()) {
      const std::int64_t end = std::min(at + few.count(), made.count());
      gpu_.ask(elementwise::map{.inputs = {few.slice(0, 0, end - at).value()},
                                .outputs = {flat.slice(0, at, end).value()},
                                .what = function::of(1, [](auto x) { return x[0]; })})
          .get();
    }
    return made;
  }
  any_tensor empty(dtype type, const shape& extents) {
    return gpu_.allocate(type, extents).value();
  }

  template <class R>
  void measure(const std::string& name, const R& r, double at_least) {
    std::int64_t bytes = 0;
    for (const auto* const list : {&r.inputs, &r.outputs}) {
      for (const any_tensor& t : *list)
        bytes += t.count() * size_of(t.type());
    }
    const auto half = static_cast<std::size_t>(bytes / 2);
    if (!copied_ || copied_->first.bytes().size() < half) {
      copied_.reset();
      copied_.emplace(half);
    }
    until_compiled(r);
    auto times = take_in_turn(
        {.blocks = 10, .warm_up = 2, .per_block = 10, .moves = false},
        [&] {
          for (int i = 0; i < in_flight; ++i)
            stream_.copy(copied_->second.address(), copied_->first.address(), half);
          stream_.synchronize();
        },
        [&] {
          for (int i = 0; i + 1 < in_flight; ++i)
            gpu_.tell(r).value();
          gpu_.ask(r).get();
        });
    add_rate(out_, times, static_cast<double>(bytes) * 1e-9 * in_flight,
             {.name = name,
              .reference = "cudaMemcpyAsync of as many bytes",
              .unit = "GB/s",
              .median = ratio_at_least(at_least)});
  }

  /// How long the first call of a new program takes, and until compiled code serves it.
  void measure_first_calls() {
    const any_tensor x = random(dtype::f32, {4096});
    const any_tensor y = empty(dtype::f32, {4096});
    samples first;
    samples warm;
    for (int i = 0; i < 20; ++i) {
      const auto f = function::of(1, [&](auto in) {
        value sum = in[0];
        for (int k = 0; k < i + 2; ++k)
          sum = sum * in[0] + k;
        return sum;
      });
      const elementwise::map r{.inputs = {x}, .outputs = {y}, .what = f};
      first.take(1, [&] { gpu_.ask(r).get(); });
      warm.take(1, [&] { gpu_.ask(r).get(); });
    }
    // Compilations that these calls started would delay the kernels of the next figures.
    std::this_thread::sleep_for(std::chrono::seconds(4));
    out_.add({"first call of a new program, p50",
              first.median(),
              "us",
              "the second call",
              warm.median(),
              {},
              {}});
  }

 private:
  /// Leaves the compiler the time that it takes.
  template <class R>
  void until_compiled(const R& r) {
    gpu_.ask(r).get();
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    gpu_.ask(r).get();
  }

  struct two_memories {
    explicit two_memories(std::size_t bytes)
        : first(raw::memory::place::device, bytes), second(raw::memory::place::device, bytes) {}
    raw::memory first;
    raw::memory second;
  };
  report& out_;
  device gpu_;
  raw::stream stream_;
  std::optional<two_memories> copied_;
};

const function silu_of_sum = function::of(2, [](auto x) { return silu(x[0] + x[1]); });
const function multiply_add = function::of(2, [](auto x) { return x[0] * 2 + x[1]; });
const function softmax = function::of(1, [](auto x) {
  const value e = exp(x[0] - row_max(x[0]));
  return e / row_sum(e);
});
const function layer_norm = function::of(3, [](auto x) {
  const value mean = row_sum(x[0]) / elementwise::row_length();
  const value centered = x[0] - mean;
  const value scale = rsqrt(row_sum(centered * centered) / elementwise::row_length() + 1e-5);
  return centered * scale * x[1] + x[2];
});
const function rms_norm = function::of(2, [](auto x) {
  return x[0] * rsqrt(row_sum(x[0] * x[0]) / elementwise::row_length() + 1e-6) * x[1];
});

void measure_maps(elementwise_bench& b) {
  constexpr std::int64_t n = 1 << 26;
  for (const dtype type : {dtype::f32, dtype::bf16}) {
    const any_tensor x = b.random(type, {n});
    const any_tensor z = b.random(type, {n});
    const any_tensor y = b.empty(type, {n});
    b.measure(fmt::format("2x + z, {} 2^26", to_string(type)),
              elementwise::map{.inputs = {x, z}, .outputs = {y}, .what = multiply_add}, 0.95);
  }
  const any_tensor x = b.random(dtype::bf16, {65536, 4096});
  const any_tensor bias = b.random(dtype::bf16, {4096});
  const any_tensor y = b.empty(dtype::bf16, {65536, 4096});
  b.measure("silu(x + b), bf16 2^28",
            elementwise::map{.inputs = {x, bias}, .outputs = {y}, .what = silu_of_sum}, 0.95);
}

void measure_strided(elementwise_bench& b) {
  const any_tensor x = b.random(dtype::f32, {8192, 8192});
  const any_tensor y = b.empty(dtype::f32, {8192, 8192});
  const auto twice = function::of(1, [](auto in) { return in[0] * 2 + 1; });
  b.measure("transposed, f32 8192²",
            elementwise::map{.inputs = {x.transpose()}, .outputs = {y}, .what = twice}, 0.6);
  const any_tensor four = b.random(dtype::f32, {64, 128, 64, 128});
  b.measure("permuted (0, 2, 1, 3), f32 2^26",
            elementwise::map{.inputs = {four.permute({0, 2, 1, 3}).value()},
                             .outputs = {b.empty(dtype::f32, {64, 64, 128, 128})},
                             .what = twice},
            0.8);
  b.measure("permuted (3, 1, 0, 2), f32 2^26",
            elementwise::map{.inputs = {four.permute({3, 1, 0, 2}).value()},
                             .outputs = {b.empty(dtype::f32, {128, 128, 64, 64})},
                             .what = twice},
            0.5);
}

void measure_rows(elementwise_bench& b) {
  constexpr std::int64_t m = 16384;
  constexpr std::int64_t n = 8192;
  const any_tensor x = b.random(dtype::bf16, {m, n});
  const any_tensor w = b.random(dtype::bf16, {n});
  const any_tensor y = b.empty(dtype::bf16, {m, n});
  using elementwise::rows;
  b.measure("softmax, bf16 16384 × 8192", rows{.inputs = {x}, .outputs = {y}, .what = softmax},
            0.8);
  b.measure("layer norm, bf16 16384 × 8192",
            rows{.inputs = {x, w, w}, .outputs = {y}, .what = layer_norm}, 0.8);
  b.measure("RMS norm, bf16 16384 × 8192", rows{.inputs = {x, w}, .outputs = {y}, .what = rms_norm},
            0.8);
  const auto sum = function::of(1, [](auto in) { return row_sum(in[0]); });
  const any_tensor long_row = b.random(dtype::f32, {1 << 26});
  b.measure("sum of all, f32 2^26",
            rows{.inputs = {long_row}, .outputs = {b.empty(dtype::f32, {1})}, .what = sum}, 0.9);
  b.measure("softmax, f32 4 × 2^24",
            rows{.inputs = {long_row.reshape({4, 1 << 24}).value()},
                 .outputs = {b.empty(dtype::f32, {4, 1 << 24})},
                 .what = softmax},
            0.4);
}

}  // namespace

int main() {
  report out("gpu_elementwise: elementwise functions through Troupe, beside a copy by CUDA");
  section(out, "everything", [&] {
    fmt::print("{}\n", raw::open_device());
    troupe::system system;
    const device gpu = system.device(0, {.backend = backend_kind::cuda});
    wait_until_settled(gpu, true);
    elementwise_bench bench(out, gpu);
    section(out, "first calls", [&] { bench.measure_first_calls(); });
    section(out, "maps", [&] { measure_maps(bench); });
    section(out, "strided maps", [&] { measure_strided(bench); });
    section(out, "rows", [&] { measure_rows(bench); });
  });
  return out.finish();
}
