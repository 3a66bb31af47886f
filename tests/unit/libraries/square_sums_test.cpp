#include "libraries/blas/shared/square_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace troupe::norms {
namespace {

TEST(SquareSums, HaveTheRootOfNumbersOfAnySize) {
  std::mt19937_64 random(1);
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (int round = 0; round < 20'000; ++round) {
    const double exponent = between(-1074, 1020);
    const double spread = between(0, round % 3 == 0 ? 1200 : 10);
    square_sums even;
    square_sums odd;
    long double squares = 0;  // its exponents hold every square
    for (int i = 0; i < 1 + round % 7; ++i) {
      const double x = std::exp2(std::min(exponent + between(-spread, spread), 1020.0));
      (i % 2 == 0 ? even : odd).add_square_of(i % 2 == 0 ? x : -x);
      squares += static_cast<long double>(x) * static_cast<long double>(x);
    }
    even += odd;
    const auto expected = static_cast<double>(std::sqrt(squares));
    constexpr double least = std::numeric_limits<double>::denorm_min();
    ASSERT_NEAR(even.root(), expected, 4e-16 * expected + 2 * least) << "round " << round;
  }
}

TEST(SquareSums, KeepNaNsAndInfinities) {
  square_sums sums;
  EXPECT_EQ(sums.root(), 0);
  sums.add_square_of(1e-200);
  sums.add_square_of(-std::numeric_limits<double>::infinity());
  EXPECT_EQ(sums.root(), std::numeric_limits<double>::infinity());
  sums.add_square_of(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(std::isnan(sums.root()));
}

}  // namespace
}  // namespace troupe::norms
