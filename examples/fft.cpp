// Takes the noise out of a signal: forward, drop the high frequencies, back.

#include <troupe/fft.hpp>
#include <troupe/memory.hpp>
#include <troupe/troupe.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numbers>
#include <span>
#include <vector>

namespace {

constexpr std::int64_t samples = 1000;
constexpr std::int64_t highest = 20;  // the last frequency that is kept

/// A tone of 5 periods in all samples, and one of 200 on top.
std::vector<float> noisy() {
  std::vector<float> signal;
  for (std::int64_t i = 0; i < samples; ++i) {
    const double at = 2 * std::numbers::pi * static_cast<double>(i) / samples;
    signal.push_back(static_cast<float>(std::sin(5 * at) + 0.5 * std::sin(200 * at)));
  }
  return signal;
}

}  // namespace

int main() try {
  troupe::system system;
  troupe::device gpu = system.device(0);
  std::vector<float> signal = noisy();

  // region: filter
  auto time = gpu.tensor<float>({samples}).value();

  // Each line only asks; the device orders the work by its reads and writes.
  auto sent = gpu.copy(std::span(signal), time);
  auto spectrum = gpu.compute(troupe::fft::r2c{.in = time});  // 501 frequencies
  auto noise = spectrum->out.slice(0, highest + 1, samples / 2 + 1).value();
  auto dropped = gpu.ask(troupe::memory::fill{.to = noise, .value = 0});
  auto back = gpu.ask(troupe::fft::c2r{
      .in = spectrum->out, .out = time, .scale = troupe::fft::normalization::by_n});
  auto received = gpu.copy(time, std::span(signal));
  // endregion: filter

  for (auto* done : {&sent, &dropped, &back, &received})
    done->get();
  float worst = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    const double at = 2 * std::numbers::pi * static_cast<double>(i) / samples;
    const auto tone = static_cast<float>(std::sin(5 * at));
    worst = std::max(worst, std::abs(signal[static_cast<std::size_t>(i)] - tone));
  }
  std::cout << "off the pure tone by " << worst << " at most\n";
  return worst < 1e-5F ? 0 : 1;
} catch (const troupe::failure& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
