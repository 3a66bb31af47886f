// Transforms outlive the workers that compute them: their plans are made anew, by themselves.

#include <troupe/device/device.hpp>
#include <troupe/fft/complex_transforms.hpp>
#include <troupe/fft/real_transforms.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <complex>
#include <csignal>
#include <cstddef>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

class FftRestart : public testing::Test {
 protected:
  static constexpr std::int64_t n = std::int64_t{1} << 17;
  static constexpr std::size_t requests = 24;

  FftRestart() {
    std::vector<float> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>((i * 2654435761U) % 1000) - 500;
    device_.copy(std::span(std::as_const(values)), real_).get();
    device_.ask(fft::r2c{.in = real_, .out = spectrum_}).get();
  }

  /// Transforms of two kinds and several lengths, each to a place of its own; the worker is killed
  /// `after` they were sent, unless that is zero. \returns their results
  std::vector<std::complex<float>> transform(std::chrono::microseconds after) {
    std::vector<tensor<std::complex<float>>> to;
    std::vector<future<void>> done;
    for (std::size_t i = 0; i < requests; ++i) {
      const std::int64_t length = n >> (i % 3);
      if (i % 2 == 0) {
        to.push_back(device_.tensor<std::complex<float>>({length / 2 + 1}).value());
        done.push_back(
            device_.ask(fft::r2c{.in = real_.slice(0, 0, length).value(), .out = to.back()}));
      } else {
        to.push_back(device_.tensor<std::complex<float>>({length / 2}).value());
        done.push_back(device_.ask(
            fft::c2c{.in = spectrum_.slice(0, 0, length / 2).value(), .out = to.back()}));
      }
    }
    if (after > 0us) {
      std::this_thread::sleep_for(after);
      EXPECT_EQ(::kill(device_.worker_pid().value(), SIGKILL), 0);
    }
    for (auto& one : done)
      one.get();
    std::vector<std::complex<float>> all;
    for (const auto& one : to) {
      const std::size_t before = all.size();
      all.resize(before + static_cast<std::size_t>(one.count()));
      device_.copy(one, std::span(all).subspan(before)).get();
    }
    return all;
  }

  system system_;
  device device_ = system_.device(0, {.restarts = {.restarts = 1000}, .backoff = {.initial = {}}});
  tensor<float> real_ = device_.tensor<float>({n}).value();
  tensor<std::complex<float>> spectrum_ = device_.tensor<std::complex<float>>({n / 2 + 1}).value();
};

TEST_F(FftRestart, TransformsAreTheSameWhereTheirWorkerWasKilled) {
  const auto undisturbed = transform(0us);
  for (const auto after : {1us, 300us, 1000us, 3000us, 6000us}) {
    const std::uint64_t before = device_.generation();
    EXPECT_EQ(transform(after), undisturbed) << after.count();
    const auto give_up = std::chrono::steady_clock::now() + 20s;
    while (device_.generation() == before && std::chrono::steady_clock::now() < give_up)
      std::this_thread::sleep_for(1ms);
    EXPECT_GT(device_.generation(), before);
  }
}

}  // namespace
}  // namespace troupe
