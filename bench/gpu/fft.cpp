// The cost of Fourier transforms through Troupe, beside cuFFT called directly on the same data with
// a plan made before; and whether both give the same numbers.

#include "fresh_contexts.hpp"
#include "gpu/raw/raw_fft.hpp"
#include "random_numbers.hpp"
#include "side_by_side.hpp"

#include <troupe/elementwise/function.hpp>
#include <troupe/fft/complex_transforms.hpp>
#include <troupe/fft/real_transforms.hpp>
#include <troupe/lane/marker.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

struct transform_case {
  std::string name;
  raw::fft_plan::kind kind;
  std::vector<int> extents;  // one transform's
  int batch;
  std::size_t loop;  // transforms of a pipelined run
  /// Forward, times a spectrum, and back: with a kernel between two calls of cuFFT, beside a store
  /// function.
  bool convolves = false;
  double target = 0.99;
};

/// The data of both sides. Real numbers; two make a complex one.
class operands {
 public:
  operands(const device& gpu, raw::stream& stream, const transform_case& what)
      : gpu_(gpu), complex_(what.kind == raw::fft_plan::kind::complex_to_complex) {
    std::vector<std::int64_t> there(what.extents.begin(), what.extents.end());
    there.insert(there.begin(), what.batch);
    std::vector<std::int64_t> transformed = there;
    if (!complex_) transformed.back() = transformed.back() / 2 + 1;
    const dtype of_input = complex_ ? dtype::c64 : dtype::f32;
    in = gpu_.allocate(of_input, shape(there)).value();
    out = gpu_.allocate(dtype::c64, shape(transformed)).value();
    const auto floats = static_cast<std::size_t>(in.count()) * (complex_ ? 2 : 1);
    const std::vector<float> data = random_numbers<float>(floats);
    raw_in = std::make_unique<raw::memory>(raw::memory::place::device, floats * sizeof(float));
    raw_out = std::make_unique<raw::memory>(raw::memory::place::device, bytes_of_output());
    stream.copy(raw_in->address(), data.data(), floats * sizeof(float));
    stream.synchronize();
    if (complex_) {
      std::vector<std::complex<float>> pairs(floats / 2);
      std::memcpy(static_cast<void*>(pairs.data()), data.data(), floats * sizeof(float));
      gpu_.copy(std::span(std::as_const(pairs)), in).get();
    } else {
      gpu_.copy(std::span(data), in).get();
    }
  }

  /// A spectrum of numbers around 1, for both sides.
  void add_filter(raw::stream& stream) {
    const auto count = static_cast<std::size_t>(out.count());
    const std::vector<float> data = random_numbers<float>(2 * count);
    std::vector<std::complex<float>> numbers(count);
    for (std::size_t i = 0; i < count; ++i)
      numbers[i] = {1 + data[2 * i] / 4, data[2 * i + 1] / 4};
    filter = gpu_.allocate(dtype::c64, shape(out.extents())).value();
    raw_filter = std::make_unique<raw::memory>(raw::memory::place::device, bytes_of_output());
    stream.copy(raw_filter->address(), numbers.data(), bytes_of_output());
    stream.synchronize();
    gpu_.copy(std::span(std::as_const(numbers)), filter).get();
  }

  [[nodiscard]] bool is_complex() const noexcept { return complex_; }

  /// The largest difference of the two results, as a part of the largest coefficient.
  [[nodiscard]] double difference(raw::stream& stream) {
    const auto count = static_cast<std::size_t>(out.count());
    std::vector<std::complex<float>> theirs(count);
    std::vector<std::complex<float>> ours(count);
    stream.copy(theirs.data(), raw_out->address(), bytes_of_output());
    stream.synchronize();
    gpu_.copy(out, std::span(ours)).get();
    double largest = 0;
    double apart = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double difference = std::abs(theirs[i] - ours[i]);
      if (!std::isfinite(difference)) return INFINITY;
      largest = std::max<double>(largest, std::abs(theirs[i]));
      apart = std::max(apart, difference);
    }
    return apart / largest;
  }

 private:
  [[nodiscard]] std::size_t bytes_of_output() const {
    return static_cast<std::size_t>(out.count()) * sizeof(std::complex<float>);
  }

  device gpu_;
  bool complex_;

 public:
  std::unique_ptr<raw::memory> raw_in;
  std::unique_ptr<raw::memory> raw_out;
  std::unique_ptr<raw::memory> raw_filter;
  any_tensor filter;
  any_tensor in;
  any_tensor out;
};

/// A plan of cuFFT on a stream, a lane of Troupe, and operands of both.
struct rival_pair {
  raw::fft_plan plan;
  library_actor lane;
  operands data;
  std::int64_t rank;
  raw::stream& stream;
  bool convolves;
  elementwise::function times_filter = elementwise::function::of(
      2, [](auto x) { return elementwise::complex(x[0]) * elementwise::complex(x[1]); });

  rival_pair(const device& gpu, const library_actor& on, raw::stream& stream_of_raw,
             const transform_case& what)
      : plan(stream_of_raw, what.kind, what.extents, what.batch),
        lane(on),
        data(gpu, stream_of_raw, what),
        rank(static_cast<std::int64_t>(what.extents.size())),
        stream(stream_of_raw),
        convolves(what.convolves) {
    if (convolves) data.add_filter(stream);
  }

  void run_raw() {
    plan.run(data.raw_in->address(), data.raw_out->address());
    if (!convolves) return;
    raw::multiply(stream, data.raw_out->address(), data.raw_filter->address(), data.out.count());
    plan.run_inverse(data.raw_out->address(), data.raw_out->address());
  }
  void run_ours() {
    if (convolves) {
      lane.tell(fft::c2c{.in = data.in,
                         .out = data.out,
                         .rank = rank,
                         .store = times_filter,
                         .store_operands = {data.filter}})
          .value();
      lane
          .tell(fft::c2c{
              .in = data.out, .out = data.out, .rank = rank, .direction = fft::direction::inverse})
          .value();
    } else if (data.is_complex()) {
      lane.tell(fft::c2c{.in = data.in, .out = data.out, .rank = rank}).value();
    } else {
      lane.tell(fft::r2c{.in = data.in, .out = data.out, .rank = rank}).value();
    }
  }
};

/// The findings for one case, in all contexts.
struct found {
  side_by_side times;
  double apart = 0;
};

constexpr std::size_t pairs = 2;  // pairs of rivals, whose operands lie elsewhere

void measure(const device& gpu, const transform_case& what, found& into) {
  // All in one stream, and all in one lane: if a second stream is in use, too, transforms of 11 to
  // 17 us take up to 4 % longer, on either side (docs/libraries/fft.md).
  raw::stream stream;
  const library_actor lane = gpu.library("fft");
  std::vector<std::unique_ptr<rival_pair>> rivals;
  rivals.reserve(pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    rivals.push_back(std::make_unique<rival_pair>(gpu, lane, stream, what));
  }
  if (what.convolves) {
    // A plan with the function in it is made and tried while requests are served.
    const auto settled = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (std::chrono::steady_clock::now() < settled) {
      for (int i = 0; i < 20; ++i)
        rivals.front()->run_ours();
      lane.ask(troupe::lane::marker{}).get();
    }
  }
  side_by_side here = take_in_turn(
      {.blocks = 6, .warm_up = 1, .per_block = 2},
      [&] {
        for (const auto& one : rivals) {
          for (std::size_t i = 0; i < what.loop; ++i)
            one->run_raw();
          stream.synchronize();
        }
      },
      [&] {
        for (const auto& one : rivals) {
          for (std::size_t i = 0; i < what.loop; ++i)
            one->run_ours();
          one->lane.ask(troupe::lane::marker{}).get();
        }
      });
  print_context(what.name, here);
  into.times += here;
  for (const auto& one : rivals)
    into.apart = std::max(into.apart, one->data.difference(stream));
}

}  // namespace

/// With an argument: the cases that have it in their names, in fewer contexts.
int main(int argc, char** argv) {
  const std::string_view wanted = argc > 1 ? argv[1] : "";
  report out("gpu_fft: Fourier transforms through Troupe, beside cuFFT called directly");
  using enum raw::fft_plan::kind;
  std::vector<transform_case> cases{
      {"c2c 2^20", complex_to_complex, {1 << 20}, 1, 500},
      {"c2c 1 024 x 4 096", complex_to_complex, {4096}, 1024, 500},
      {"c2c 256^3", complex_to_complex, {256, 256, 256}, 1, 50},
      {"r2c 2^20", real_to_complex, {1 << 20}, 1, 500},
      {"r2c 1 024 x 4 096", real_to_complex, {4096}, 1024, 500},
      {"r2c 256^3", real_to_complex, {256, 256, 256}, 1, 50},
      {"convolution 2^24", complex_to_complex, {1 << 24}, 1, 50, true},
      {"convolution 16 384 x 1 024", complex_to_complex, {1024}, 16384, 50, true, 1.15},
      {"convolution 64 x 512^2", complex_to_complex, {512, 512}, 64, 50, true, 1.15},
      {"convolution 64 x 1 024", complex_to_complex, {1024}, 64, 500, true},
  };
  std::erase_if(
      cases, [&](const transform_case& one) { return one.name.find(wanted) == std::string::npos; });
  section(out, "everything", [&] {
    std::vector<found> results(cases.size());
    in_fresh_contexts(wanted.empty() ? 8 : 2, [&](const device& gpu) {
      for (std::size_t i = 0; i < cases.size(); ++i)
        measure(gpu, cases[i], results[i]);
    });
    for (std::size_t i = 0; i < cases.size(); ++i) {
      add_rate(out, results[i].times, static_cast<double>(cases[i].loop * pairs),
               {.name = cases[i].name,
                .reference = cases[i].convolves ? "cuFFT and a kernel" : "cuFFT in a loop",
                .unit = "1/s",
                .median = ratio_at_least(cases[i].target)});
      out.add({cases[i].name + ", largest relative difference",
               results[i].apart,
               "",
               "",
               {},
               at_most(1e-5)});
    }
  });
  return out.finish();
}
