// Smooths a recording: a convolution as a product of spectra, where the transforms themselves read
// 16-bit samples and apply the filter.

#include <troupe/elementwise.hpp>
#include <troupe/fft.hpp>
#include <troupe/troupe.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <iostream>
#include <numbers>
#include <span>
#include <vector>

namespace {

namespace ew = troupe::elementwise;

constexpr std::int64_t samples = 4096;

/// The transform of a Gaussian: the remaining part of frequency k.
double kept(std::int64_t k) { return std::exp(-std::pow(static_cast<double>(k) / 40, 2)); }

/// Tones of 5 and of 200 periods in all samples.
double tones(std::int64_t i, double low, double high) {
  const double at = 2 * std::numbers::pi * static_cast<double>(i) / samples;
  return low * std::sin(5 * at) + high * std::sin(200 * at);
}

}  // namespace

int main() try {
  troupe::system system;
  troupe::device gpu = system.device(0);
  std::vector<std::int16_t> recorded;
  recorded.reserve(samples);
  for (std::int64_t i = 0; i < samples; ++i)
    recorded.push_back(static_cast<std::int16_t>(std::lround(tones(i, 0.5, 0.25) * 32768)));
  std::vector<float> gaussian;
  gaussian.reserve(samples / 2 + 1);
  for (std::int64_t k = 0; k <= samples / 2; ++k)
    gaussian.push_back(static_cast<float>(kept(k)));

  auto sound = gpu.tensor<std::int16_t>({samples}).value();
  auto filter = gpu.tensor<float>({samples / 2 + 1}).value();
  auto spectrum = gpu.tensor<std::complex<float>>({samples / 2 + 1}).value();
  auto smooth = gpu.tensor<float>({samples}).value();
  gpu.copy(std::span(recorded), sound).get();
  gpu.copy(std::span(gaussian), filter).get();

  // region: convolution
  // Built once. The first input is the element read or the transform's result; the others are
  // operands.
  const auto from_samples = ew::function::of(1, [](auto in) { return in[0] * (1.0 / 32768); });
  const auto filtered = ew::function::of(2, [](auto in) { return ew::complex(in[0]) * in[1]; });

  // filter is broadcast, here it has the shape of out.
  gpu.ask(troupe::fft::r2c{.in = sound,
                           .out = spectrum,
                           .load = from_samples,
                           .store = filtered,
                           .store_operands = {filter},
                           .precision = troupe::fft::precision::f32})
      .get();
  gpu.ask(
         troupe::fft::c2r{.in = spectrum, .out = smooth, .scale = troupe::fft::normalization::by_n})
      .get();
  // endregion: convolution

  std::vector<float> heard(samples);
  gpu.copy(smooth, std::span(heard)).get();
  double worst = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    const double wanted = tones(i, 0.5 * kept(5), 0.25 * kept(200));
    worst =
        std::max(worst, std::abs(static_cast<double>(heard[static_cast<std::size_t>(i)]) - wanted));
  }
  std::cout << "off the smooth sound by " << worst << " at most\n";
  return worst < 1e-4 ? 0 : 1;
} catch (const troupe::failure& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
