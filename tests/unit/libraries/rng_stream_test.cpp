// A stream of random numbers outlives the workers that draw it.

#include <troupe/device/device.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/rng/bits.hpp>
#include <troupe/rng/continuous.hpp>
#include <troupe/rng/discrete.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace troupe {
namespace {

using rng::generator_type;

constexpr std::int64_t count = 1001;
constexpr int requests = 30;

class RngStream : public testing::Test {
 protected:
  /// Thirty requests of three kinds from one stream; the worker is killed after every tenth, or
  /// never.
  std::vector<double> draw(generator_type type, bool kill) {
    rng::generator stream({.type = type, .seed = 31, .offset = 7});
    std::vector<future<void>> done;
    std::vector<tensor<double>> reals;
    std::vector<tensor<std::int32_t>> integers;
    for (int i = 0; i < requests; ++i) {
      reals.push_back(device_.tensor<double>({count}).value());
      integers.push_back(device_.tensor<std::int32_t>({count}).value());
      done.push_back(device_.ask(stream.draw(rng::normal{.to = reals.back()})));
      done.push_back(device_.ask(stream.draw(rng::poisson{.to = integers.back(), .mean = 40})));
      if (kill && i % 10 == 9) {
        // Each with an operand of its own: a request that has ended two workers ends no third.
        victims_.push_back(device_.tensor<float>({1}).value());
        const auto outcome = device_
                                 .ask(fault::inject{.what = fault::kind::segmentation_fault,
                                                    .output = victims_.back()})
                                 .get_result();
        EXPECT_FALSE(outcome);
      }
    }
    for (auto& one : done)
      one.get();
    std::vector<double> all;
    std::vector<double> values(count);
    std::vector<std::int32_t> whole(count);
    for (std::size_t i = 0; i < reals.size(); ++i) {
      device_.copy(reals[i], std::span(values)).get();
      device_.copy(integers[i], std::span(whole)).get();
      all.insert(all.end(), values.begin(), values.end());
      all.insert(all.end(), whole.begin(), whole.end());
    }
    return all;
  }

  system system_;
  device device_ = system_.device(
      0, {.restarts = {.restarts = 1000}, .backoff = {.initial = {}}, .fault_injection = true});
  std::vector<any_tensor> victims_;
};

TEST_F(RngStream, GoesOnBitForBitAfterItsWorkerWasKilled) {
  for (const generator_type type :
       {generator_type::philox4x32_10, generator_type::xorwow, generator_type::mrg32k3a,
        generator_type::mtgp32, generator_type::mt19937}) {
    const std::uint64_t before = device_.generation();
    const std::vector<double> interrupted = draw(type, true);
    EXPECT_GE(device_.generation(), before + 3);
    EXPECT_EQ(draw(type, false), interrupted) << to_string(type);
  }
}

TEST_F(RngStream, AQuasirandomOneDoesToo) {
  const auto points = [&](const rng::position& from, std::int64_t n) {
    auto to = device_.tensor<double>({n, 5}).value();
    device_.ask(rng::uniform{.to = to, .from = from}).get();
    std::vector<double> values(static_cast<std::size_t>(n) * 5);
    device_.copy(to, std::span(values)).get();
    return values;
  };
  rng::position from{.type = generator_type::scrambled_sobol64, .seed = 2};
  const std::vector<double> whole = points(from, 100);
  std::vector<double> parts = points(from, 37);
  EXPECT_FALSE(device_.ask(fault::inject{.what = fault::kind::abort}).get_result());
  from.offset = 37;
  const std::vector<double> rest = points(from, 63);
  parts.insert(parts.end(), rest.begin(), rest.end());
  EXPECT_EQ(parts, whole);
}

}  // namespace
}  // namespace troupe
