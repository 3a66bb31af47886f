// The random numbers of both backends, against published figures and the C++ library.

#include "libraries/rng/cpu/engines.hpp"
#include "libraries/rng/shared/continuous_samplers.hpp"
#include "libraries/rng/shared/discrete_samplers.hpp"
#include "libraries/rng/shared/sobol.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace troupe::rng {
namespace {

void expect_block(const words<4>& counter, std::uint64_t key, const words<4>& expected) {
  const words<4> drawn = philox(counter, key);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(drawn.word[i], expected.word[i]) << "word " << i;
}

// The known answers that the authors of Random123 publish for philox4x32-10.
TEST(Philox, GivesThePublishedAnswers) {
  expect_block({0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t ones = 0xffffffff;
  expect_block({ones, ones, ones, ones}, ~std::uint64_t{0},
               {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  expect_block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
               std::uint64_t{0x299f31d0} << 32 | 0xa4093822,
               {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

template <class Engine>
std::uint32_t nth(Engine engine, int n) {
  for (int i = 1; i < n; ++i)
    (void)engine();
  return static_cast<std::uint32_t>(engine());
}

TEST(Engines, GiveThePublishedAnswers) {
  EXPECT_EQ(nth(std::mt19937(5489), 10'000), 4123659995u);
  EXPECT_EQ(nth(cpu::mt11213b(5489), 10'000), 3809585648u);
  auto published = cpu::mrg32k3a::published(12345);
  constexpr double scale = 4294967088.0;
  EXPECT_NEAR(static_cast<double>(published.number()) / scale, 0.127011122046577, 1e-14);
  EXPECT_NEAR(static_cast<double>(published.number()) / scale, 0.318527565396795, 1e-14);
}

template <class Engine>
void expect_jumps(std::uint64_t seed) {
  Engine walked(seed);
  std::uint64_t at = 0;
  for (const std::uint64_t to : {1u, 2u, 3u, 8u, 1000u, 65'537u}) {
    for (; at < to; ++at)
      (void)walked();
    Engine jumped(seed);
    jumped.discard(to);
    Engine here = walked;
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(here(), jumped()) << "after " << to;
  }
  Engine twice(seed);
  twice.discard(std::uint64_t{1} << 61);
  twice.discard((std::uint64_t{1} << 61) + 5);
  Engine once(seed);
  once.discard((std::uint64_t{1} << 62) + 5);
  EXPECT_EQ(once(), twice());
}

TEST(Engines, JumpToWhereTheyWouldHaveWalked) {
  expect_jumps<cpu::xorwow>(7);
  expect_jumps<cpu::mrg32k3a>(7);
}

void expect_close(double actual, double expected, double relative) {
  EXPECT_LE(std::abs(actual - expected), relative * std::abs(expected))
      << actual << " and " << expected;
}

TEST(RealFunctions, AgreeWithTheLibrary) {
  for (double x = 0x1p-53; x < 1e12; x *= 1.0173) {
    if (std::abs(x - 1) > 1e-9) expect_close(logarithm(x), std::log(x), 1e-15);
  }
  EXPECT_EQ(logarithm(1), 0);
  for (double x = -740; x < 705; x += 0.377)
    expect_close(exponential_of(x), std::exp(x), x > -708 ? 1e-15 : 1e-10);
  EXPECT_EQ(exponential_of(-800), 0);
  EXPECT_TRUE(std::isinf(exponential_of(711)));
  constexpr double pi = std::numbers::pi;
  for (double x = -0.4999; x < 0.5; x += 0.00137)
    expect_close(tangent_of_pi(x), std::tan(pi * x), 1e-12);
  for (double k = 0; k < 2000; k += 1)
    EXPECT_NEAR(logarithm_of_factorial(k), std::lgamma(k + 1), 1e-10 + 1e-14 * std::lgamma(k + 1));
}

TEST(RealFunctions, InvertTheNormalDistribution) {
  const auto below = [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); };
  for (double p = 0x1p-53; p < 0.5; p *= 1.0371) {
    const double x = normal_quantile(p);
    expect_close(below(x), p, 5e-14);
    if (p > 1e-3) expect_close(normal_quantile(1 - p), -x, 1e-12);
  }
  EXPECT_EQ(normal_quantile(0.5), 0);
}

TEST(RealFunctions, QuantilesOfATableAreThoseOfTheFunction) {
  std::vector<normal_segment> table;
  table.reserve(normal_segments);
  for (int i = 0; i < normal_segments; ++i)
    table.push_back(normal_segment_of(i));
  const auto expect_quantile = [&](std::uint32_t word) {
    const double expected = normal_quantile((word + 0.5) * 0x1p-32);
    const double found = normal_quantile(table.data(), word);
    const auto nearest = static_cast<float>(std::abs(expected));
    const double unit = std::nextafter(nearest, 10.0F) - nearest;
    ASSERT_NEAR(found, expected, std::max(2 * unit, 1e-8)) << word;
    ASSERT_EQ(found, -normal_quantile(table.data(), ~word)) << word;
  };
  for (std::uint32_t i = 0; i < 5000; ++i) {
    expect_quantile(i);
    expect_quantile(0x7fffffffu - i);
    expect_quantile(i * 2654435761u);
    // On both sides of where two cubics meet.
    expect_quantile((i % 32 + 16) << 26 >> i / 32 % 32);
    expect_quantile(((i % 32 + 16) << 26 >> i / 32 % 32) - 1);
  }
}

TEST(Reals, StayInsideTheirBounds) {
  EXPECT_GT(inner(words<1>{0}), 0);
  EXPECT_LT(inner(words<1>{0xffffffff}), 1);
  EXPECT_GT(inner(std::uint64_t{0}), 0);
  EXPECT_LT(inner(~std::uint64_t{0}), 1);
  EXPECT_EQ(from_zero(0), 0);
  EXPECT_LT(from_zero(~std::uint64_t{0}), 1);
  EXPECT_EQ(next_above(1.0f), std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(next_below(-1.0), std::nextafter(-1.0, -2.0));
  EXPECT_EQ(next_above(-1.0), std::nextafter(-1.0, 0.0));
  EXPECT_EQ(next_below(0.0), -next_above(0.0));
}

TEST(Samplers, NeverReachAnOpenBound) {
  const auto ends = [](const rng::uniform& r) {
    const uniform_sampler<float> sample(r);
    return std::pair(sample({0}), sample({0xffffffff}));
  };
  EXPECT_EQ(ends({}).first, 0.0f);
  EXPECT_EQ(ends({}).second, 1 - 0x1p-24f);
  EXPECT_EQ(ends({.interval = rng::bounds::open_closed}), std::pair(0x1p-24f, 1.0f));
  // Here rounding would give the bound.
  EXPECT_EQ(ends({.low = 1, .high = 1 + 0x1p-22}).second, std::nextafter(1 + 0x1p-22f, 0.0f));
  EXPECT_EQ(ends({.low = 1, .high = 2, .interval = rng::bounds::open_closed}).first,
            std::nextafter(1.0f, 2.0f));
}

TEST(Samplers, MultiplySixtyFourBits) {
  EXPECT_EQ(upper_product(~std::uint64_t{0}, ~std::uint64_t{0}), ~std::uint64_t{0} - 1);
  EXPECT_EQ(upper_product(std::uint64_t{1} << 63, 10), 5u);
  const integer_sampler<std::uint64_t> all{.low = std::uint64_t{1} << 63, .choices = 0};
  EXPECT_EQ(all({0, 0, 0, 0}), std::uint64_t{1} << 63);
  EXPECT_EQ(all({0, 0, 0xffffffff, 0xffffffff}), (std::uint64_t{1} << 63) - 1);
}

TEST(Sobol, StartsAsPublished) {
  const auto rows = sobol_rows<std::uint32_t>(3, false, 0);
  constexpr std::ptrdiff_t row = sobol_row<std::uint32_t>;
  const double points[][3] = {
      {0, 0, 0}, {0.5, 0.5, 0.5}, {0.75, 0.25, 0.25}, {0.25, 0.75, 0.75}, {0.375, 0.375, 0.625}};
  for (std::uint64_t i = 0; i < 5; ++i) {
    for (int d = 0; d < 3; ++d)
      EXPECT_EQ(sobol_coordinate(rows.data() + d * row, i) * 0x1p-32, points[i][d]);
  }
}

// Each of 2^k equal intervals has one of 2^k consecutive points from the first, in every dimension.
template <class Integer>
void expect_stratified(bool scrambled) {
  constexpr std::int64_t dimensions = rng::most_dimensions;
  const auto rows = sobol_rows<Integer>(dimensions, scrambled, 99);
  for (std::int64_t d = 0; d < dimensions; d += 61) {
    std::vector<int> hits(1024);
    for (std::uint64_t i = 0; i < 1024; ++i) {
      const Integer c = sobol_coordinate(rows.data() + d * sobol_row<Integer>, i);
      ++hits[static_cast<std::size_t>(c >> (8 * sizeof(Integer) - 10))];
    }
    EXPECT_EQ(hits, std::vector<int>(1024, 1)) << "dimension " << d;
  }
}

TEST(Sobol, HasOnePointInEachInterval) {
  expect_stratified<std::uint32_t>(false);
  expect_stratified<std::uint64_t>(false);
  expect_stratified<std::uint32_t>(true);
  expect_stratified<std::uint64_t>(true);
}

}  // namespace
}  // namespace troupe::rng
