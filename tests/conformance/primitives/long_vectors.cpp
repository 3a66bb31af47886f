// Vectors of more elements than 31 bits count, on a GPU: the CPU's loops count in 64 bits.
#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>
#include <troupe/elementwise.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/primitives/reductions.hpp>
#include <troupe/primitives/scans.hpp>
#include <troupe/primitives/selection.hpp>
#include <troupe/primitives/sorting.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>

namespace troupe::conformance {
namespace {

constexpr std::int64_t long_count = (std::int64_t{1} << 31) + 19;
constexpr std::int64_t period = 251;  // x[i] = i mod 251

std::int64_t elements_equal_to(std::int64_t x) { return (long_count - 1 - x) / period + 1; }

class LongVectors : public testing::Test {
 protected:
  void SetUp() override {
    const char* const backend = std::getenv("TROUPE_BACKEND");
    if (backend == nullptr || std::string_view(backend) != "cuda") GTEST_SKIP() << "only of a GPU";
    gpu_.emplace(system_.device(0, {.backend = backend_kind::cuda, .gpu = gpu_choice::number(0)}));
    x_ = gpu_->tensor<std::uint8_t>({long_count}).value();
    const auto numbers =
        elementwise::function::of(0, [](auto) { return elementwise::position() % period; });
    gpu_->ask(elementwise::map{.outputs = {x_}, .what = numbers}).get();
  }
  std::uint8_t at(const any_tensor& t, std::int64_t i) {
    std::array<std::uint8_t, 1> read{};
    gpu_->copy(t.slice(0, i, i + 1).value(), std::span(read)).get();
    return read[0];
  }

  troupe::system system_;
  std::optional<device> gpu_;
  any_tensor x_;
};

TEST_F(LongVectors, AreWrittenReducedAndSearched) {
  std::int64_t sum = 0;
  for (std::int64_t x = 0; x < period; ++x)
    sum += x * elements_equal_to(x);
  for (const std::int64_t i : {std::int64_t{0}, long_count - 20, long_count - 1})
    EXPECT_EQ(at(x_, i), i % period) << i;
  const auto total = gpu_->tensor<std::uint64_t>({1}).value();
  gpu_->ask(primitives::reduce{.x = x_, .result = total}).get();
  std::array<std::uint64_t, 1> read{};
  gpu_->copy(total, std::span(read)).get();
  EXPECT_EQ(read[0], static_cast<std::uint64_t>(sum));
  gpu_->ask(memory::fill{.to = x_.slice(0, long_count - 3, long_count - 2).value(), .value = 255})
      .get();
  EXPECT_EQ(gpu_->ask(primitives::argmax{.x = x_}).get(), long_count - 3);
}

TEST_F(LongVectors, AreScanned) {
  const auto y = gpu_->tensor<std::uint8_t>({long_count}).value();
  gpu_->ask(primitives::scan{.x = x_, .y = y}).get();
  constexpr std::int64_t cycle = period * (period - 1) / 2;
  for (const std::int64_t i : {std::int64_t{1000}, long_count - 20, long_count - 1}) {
    const std::int64_t rest = i % period;
    EXPECT_EQ(at(y, i), (i / period * cycle + rest * (rest + 1) / 2) % 256) << i;
  }
}

TEST_F(LongVectors, AreSorted) {
  gpu_->ask(primitives::sort{.x = x_, .y = x_}).get();
  std::int64_t begin = 0;
  for (std::int64_t x = 0; x < period; ++x) {
    EXPECT_EQ(at(x_, begin), x);
    begin += elements_equal_to(x);
    EXPECT_EQ(at(x_, begin - 1), x);
  }
}

TEST_F(LongVectors, AreSelectedFrom) {
  const auto flags = gpu_->tensor<bool>({long_count}).value();
  const auto last = elementwise::function::of(1, [](auto x) { return x[0] == period - 1; });
  gpu_->ask(elementwise::map{.inputs = {x_}, .outputs = {flags}, .what = last}).get();
  const std::int64_t wanted = elements_equal_to(period - 1);
  const auto y = gpu_->tensor<std::uint8_t>({wanted}).value();
  EXPECT_EQ(gpu_->ask(primitives::select{.x = x_, .flags = flags, .y = y}).get(), wanted);
  EXPECT_EQ(at(y, wanted - 1), period - 1);
}

}  // namespace
}  // namespace troupe::conformance
