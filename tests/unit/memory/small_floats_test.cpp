#include <troupe/tensor/small_floats.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace troupe {
namespace {

template <class Small>
struct width;
template <>
struct width<f16> {
  static constexpr int exponent = 5, mantissa = 10;
  static constexpr bool finite = false;
};
template <>
struct width<bf16> {
  static constexpr int exponent = 8, mantissa = 7;
  static constexpr bool finite = false;
};
template <>
struct width<e4m3> {
  static constexpr int exponent = 4, mantissa = 3;
  static constexpr bool finite = true;
};
template <>
struct width<e5m2> {
  static constexpr int exponent = 5, mantissa = 2;
  static constexpr bool finite = false;
};

template <class Small>
constexpr std::uint32_t sign_bit = 1u << (width<Small>::exponent + width<Small>::mantissa);

template <class Small>
Small from_bits(std::uint32_t bits) {
  Small s;
  s.bits = static_cast<decltype(s.bits)>(bits);
  return s;
}

/// The value of a non-negative pattern, from the definition: (1 + m / 2^M) · 2^(e - bias).
/// Infinity and NaN as in the format.
template <class Small>
double value_of(std::uint32_t bits) {
  using w = width<Small>;
  constexpr int bias = (1 << (w::exponent - 1)) - 1;
  constexpr int top = (1 << w::exponent) - 1;
  const int e = static_cast<int>(bits >> w::mantissa);
  const int m = static_cast<int>(bits & ((1u << w::mantissa) - 1));
  const int ones = (1 << w::mantissa) - 1;
  if (e == top && w::finite && m == ones) return std::numeric_limits<double>::quiet_NaN();
  if (e == top && !w::finite) {
    return m == 0 ? std::numeric_limits<double>::infinity()
                  : std::numeric_limits<double>::quiet_NaN();
  }
  if (e == 0) return std::ldexp(m, 1 - bias - w::mantissa);
  return std::ldexp(m + (1 << w::mantissa), e - bias - w::mantissa);
}

template <class Small>
class SmallFloat : public testing::Test {};
using every_type = testing::Types<f16, bf16, e4m3, e5m2>;
TYPED_TEST_SUITE(SmallFloat, every_type);

TYPED_TEST(SmallFloat, EveryPatternHasItsDefinedValueAndComesBackUnchanged) {
  for (std::uint32_t bits = 0; bits < 2 * sign_bit<TypeParam>; ++bits) {
    const bool negative = (bits & sign_bit<TypeParam>) != 0;
    const double magnitude = value_of<TypeParam>(bits & (sign_bit<TypeParam> - 1));
    const float widened = static_cast<float>(from_bits<TypeParam>(bits));
    ASSERT_EQ(std::signbit(widened), negative) << bits;
    const TypeParam back(widened);
    if (std::isnan(magnitude)) {
      ASSERT_TRUE(std::isnan(widened)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(back))) << bits;
    } else {
      ASSERT_EQ(std::fabs(static_cast<double>(widened)), magnitude) << bits;
      ASSERT_EQ(back.bits, bits);
    }
  }
}

/// The nearest pattern to a finite `x` ≥ 0, ties to the even one, found by looking at both
/// neighbours. From the middle between the largest value and the next one (if there were one) on,
/// it is the pattern after the largest.
template <class Small>
std::uint32_t nearest(double x) {
  using w = width<Small>;
  const std::uint32_t largest = ((1u << w::exponent) - 1) << w::mantissa;
  std::uint32_t low = 0;
  std::uint32_t high = w::finite ? largest + (1u << w::mantissa) - 1 : largest;
  const auto value = [&](std::uint32_t bits) {
    // The pattern after the largest finite one stands for the value that it would have had.
    constexpr int bias = (1 << (w::exponent - 1)) - 1;
    const int e = static_cast<int>(bits >> w::mantissa);
    const int m = static_cast<int>(bits & ((1u << w::mantissa) - 1));
    return e == 0 ? std::ldexp(m, 1 - bias - w::mantissa)
                  : std::ldexp(m + (1 << w::mantissa), e - bias - w::mantissa);
  };
  if (x >= value(high)) return high;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (value(middle) <= x ? low : high) = middle;
  }
  const double below = x - value(low);
  const double above = value(high) - x;
  if (below < above) return low;
  if (above < below) return high;
  return low % 2 == 0 ? low : high;
}

TYPED_TEST(SmallFloat, RoundsToTheNearestAndTiesToEven) {
  std::mt19937 random(7);
  std::vector<float> values;
  for (int i = 0; i < 200'000; ++i) {
    const float f = std::bit_cast<float>(static_cast<std::uint32_t>(random() & 0x7fffffffu));
    if (std::isfinite(f)) values.push_back(f);
    // Around what the type can hold, where the random pattern above seldom falls.
    values.push_back(std::ldexp(1.0f + static_cast<float>(random() % 65'536) / 65'536.0f,
                                static_cast<int>(random() % 48) - 30));
  }
  // Every value, every middle between neighbours, and the floats beside those.
  const std::uint32_t patterns = sign_bit<TypeParam>;
  for (std::uint32_t bits = 0; bits + 1 < patterns; ++bits) {
    const double a = value_of<TypeParam>(bits);
    const double b = value_of<TypeParam>(bits + 1);
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    const auto middle = static_cast<float>((a + b) / 2);
    values.push_back(middle);
    values.push_back(std::nextafterf(middle, 0.0f));
    values.push_back(std::nextafterf(middle, std::numeric_limits<float>::infinity()));
  }
  for (const float f : values) {
    const std::uint32_t expected = nearest<TypeParam>(static_cast<double>(f));
    ASSERT_EQ(TypeParam(f).bits, expected) << f;
    ASSERT_EQ(TypeParam(-f).bits, expected | sign_bit<TypeParam>) << f;
  }
}

TYPED_TEST(SmallFloat, InfinityStaysInfiniteOrIsNaNWhereThereIsNone) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float back = static_cast<float>(TypeParam(infinity));
  EXPECT_TRUE(width<TypeParam>::finite ? std::isnan(back) : back == infinity);
  EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(std::nanf("")))));
}

TEST(SmallFloat, HasTheStandardsPatterns) {
  EXPECT_EQ(e4m3(1.0f).bits, 0x38);
  EXPECT_EQ(e5m2(1.0f).bits, 0x3C);
  EXPECT_EQ(f16(1.0f).bits, 0x3C00);
  EXPECT_EQ(bf16(1.0f).bits, 0x3F80);
  EXPECT_EQ(e4m3(448.0f).bits, 0x7E);
  EXPECT_EQ(e5m2(57'344.0f).bits, 0x7B);
  EXPECT_EQ(f16(65'504.0f).bits, 0x7BFF);
  EXPECT_EQ(e4m3(480.0f).bits, 0x7F) << "out of range is NaN, never the largest value";
}

}  // namespace
}  // namespace troupe
