// Fourier transforms on the CPU backend, beside FFTW called directly with the same kind of plan.

#include "placement.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <troupe/device/device.hpp>
#include <troupe/fft/complex_transforms.hpp>
#include <troupe/fft/real_transforms.hpp>

#include <fftw3.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

struct transform_case {
  std::string name;
  std::vector<int> extents;  // one transform's
  int batch;
  /// Transforms of a run, of which only the last one is awaited. They take more than 100 ms: the
  /// next rival finds its processor slow and its caches cold, and the first transforms of either
  /// side take up to twice as long.
  std::size_t loop;
};

struct free_of_fftw {
  void operator()(void* held) const noexcept { ::fftwf_free(held); }
};
template <class T>
using fftw_array = std::unique_ptr<T[], free_of_fftw>;
using fftw_plan_held =
    std::unique_ptr<std::remove_pointer_t<fftwf_plan>,
                    decltype([](fftwf_plan held) { ::fftwf_destroy_plan(held); })>;

template <class T>
fftw_array<T> make_array(std::int64_t count) {
  return fftw_array<T>(
      static_cast<T*>(::fftwf_malloc(static_cast<std::size_t>(count) * sizeof(T))));
}
std::span<const std::complex<float>> as_complex(const fftwf_complex* values, std::int64_t count) {
  return {reinterpret_cast<const std::complex<float>*>(values), static_cast<std::size_t>(count)};
}

constexpr int turns = 40;

/// As FFTW plans where nothing may be measured, which a worker's requests do not wait for either.
constexpr unsigned plan_flags = FFTW_ESTIMATE | FFTW_PRESERVE_INPUT;

fftw_plan_held plan_of(const transform_case& what, fftwf_complex* in, fftwf_complex* out,
                       int distance) {
  return fftw_plan_held(::fftwf_plan_many_dft(
      static_cast<int>(what.extents.size()), what.extents.data(), what.batch, in, nullptr, 1,
      distance, out, nullptr, 1, distance, FFTW_FORWARD, plan_flags));
}
fftw_plan_held plan_of(const transform_case& what, float* in, fftwf_complex* out, int distance) {
  const int half = what.extents.back() / 2 + 1;
  return fftw_plan_held(::fftwf_plan_many_dft_r2c(
      static_cast<int>(what.extents.size()), what.extents.data(), what.batch, in, nullptr, 1,
      distance, out, nullptr, 1, distance / what.extents.back() * half, plan_flags));
}

/// The largest difference of two results, as a part of the largest coefficient.
double difference(std::span<const std::complex<float>> theirs,
                  std::span<const std::complex<float>> ours) {
  double largest = 0;
  double apart = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    largest = std::max<double>(largest, std::abs(theirs[i]));
    apart = std::max<double>(apart, std::abs(theirs[i] - ours[i]));
  }
  return apart / largest;
}

/// `In` is what FFTW calls the elements of the input; of a transform of real numbers, float.
template <class In>
void measure(report& out, device cpu, const transform_case& what) {
  constexpr bool real = std::is_same_v<In, float>;
  using element = std::conditional_t<real, float, std::complex<float>>;
  std::vector<std::int64_t> size(what.extents.begin(), what.extents.end());
  size.insert(size.begin(), what.batch);
  const auto in = cpu.tensor<element>(shape(std::span(std::as_const(size)))).value();
  const std::int64_t distance = in.count() / what.batch;
  if (real) size.back() = size.back() / 2 + 1;
  const auto transformed =
      cpu.tensor<std::complex<float>>(shape(std::span(std::as_const(size)))).value();

  const auto raw_in = make_array<In>(in.count());
  const auto raw_out = make_array<fftwf_complex>(transformed.count());
  const fftw_plan_held plan =
      plan_of(what, raw_in.get(), raw_out.get(), static_cast<int>(distance));
  std::mt19937 random(7);
  std::uniform_real_distribution<float> number(-1, 1);
  const std::span numbers(reinterpret_cast<float*>(raw_in.get()),
                          static_cast<std::size_t>(in.count()) * sizeof(In) / sizeof(float));
  std::ranges::generate(numbers, [&] { return number(random); });
  cpu.copy(std::span(reinterpret_cast<const element*>(raw_in.get()),
                     static_cast<std::size_t>(in.count())),
           in)
      .get();

  const auto rank = static_cast<std::int64_t>(what.extents.size());
  const library_actor lane = cpu.library("fft");
  using request = std::conditional_t<real, fft::r2c, fft::c2c>;
  const request transform{.in = in, .out = transformed, .rank = rank};
  const auto call = [&](std::size_t times) {
    for (std::size_t i = 0; i < times; ++i)
      ::fftwf_execute(plan.get());
  };
  const auto ask = [&](std::size_t times) {
    for (std::size_t i = 1; i < times; ++i)
      lane.tell(transform).value();
    lane.ask(transform).get();
  };
  call(1);
  ask(1);
  bench::placement processors;
  samples direct;
  samples ours;
  samples quotients;  // one for each turn
  samples alone;
  for (int turn = 0; turn < turns; ++turn) {
    processors.trade();
    // Taken in turn, so that both see the same machine.
    samples calls;
    samples asks;
    if (turn % 4 < 2) calls.take(1, [&] { call(what.loop); });
    asks.take(1, [&] { ask(what.loop); });
    if (turn % 4 >= 2) calls.take(1, [&] { call(what.loop); });
    quotients.add(calls.median() / asks.median());
    direct.add(calls);
    ours.add(asks);
    alone.take(1, [&] { ask(1); });
  }
  const double each = 1e6 * static_cast<double>(what.loop);
  out.add({what.name + ", process", each / ours.middle(), "1/s", "FFTW called directly",
           each / direct.middle(), ratio_at_least(0.97), quotients.middle()});
  out.add({what.name + ", each waited for, process", 1e6 / alone.middle(), "1/s",
           "FFTW called directly", each / direct.middle()});
  std::vector<std::complex<float>> back(static_cast<std::size_t>(transformed.count()));
  cpu.copy(transformed, std::span(back)).get();
  out.add({what.name + ", largest relative difference",
           difference(as_complex(raw_out.get(), transformed.count()), back),
           "",
           "",
           {},
           at_most(1e-6)});
}

}  // namespace

int main() {
  report out("fft: transforms on the CPU backend, beside FFTW called directly");
  troupe::system system;
  const device cpu = system.device(0, {.backend = backend_kind::cpu});
  cpu.wait_until_ready().value();
  measure<fftwf_complex>(out, cpu, {"c2c 2^20", {1 << 20}, 1, 8});
  measure<fftwf_complex>(out, cpu, {"c2c 256 x 4 096", {4096}, 256, 50});
  measure<fftwf_complex>(out, cpu, {"c2c 128^3", {128, 128, 128}, 1, 16});
  measure<float>(out, cpu, {"r2c 2^20", {1 << 20}, 1, 32});
  measure<float>(out, cpu, {"r2c 256 x 4 096", {4096}, 256, 60});
  return out.finish();
}
