#include <troupe/tensor/scalar.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace troupe {
namespace {

TEST(Scalar, KeepsIntegersOf64BitsExactly) {
  EXPECT_EQ(scalar(std::numeric_limits<std::int64_t>::min()).as<std::int64_t>(),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(scalar(std::numeric_limits<std::uint64_t>::max()).as<std::uint64_t>(),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(scalar(std::numeric_limits<std::uint64_t>::max()).as<double>(), 0x1p64);
}

TEST(Scalar, KnowsItsKind) {
  EXPECT_EQ(scalar(1).what(), scalar::kind::integer);
  EXPECT_EQ(scalar(1u).what(), scalar::kind::unsigned_integer);
  EXPECT_EQ(scalar(1.0f).what(), scalar::kind::real);
  EXPECT_EQ(scalar(std::complex(1.0, 0.0)).what(), scalar::kind::complex);
  EXPECT_EQ(scalar(f16(0.5f)).as<double>(), 0.5);
}

TEST(Scalar, DropsTheImaginaryPartForARealType) {
  const scalar z(std::complex(2.0, 3.0));
  EXPECT_TRUE(z.has_imaginary());
  EXPECT_EQ(z.as<double>(), 2.0);
  EXPECT_EQ(z.as<std::complex<float>>(), std::complex(2.0f, 3.0f));
  EXPECT_EQ(scalar(4).as<std::complex<double>>(), std::complex(4.0, 0.0));
}

TEST(Scalar, IsZeroOnlyWhenEveryPartIs) {
  EXPECT_TRUE(scalar().is_zero());
  EXPECT_TRUE(scalar(-0.0).is_zero());
  EXPECT_FALSE(scalar(std::complex(0.0, 1.0)).is_zero());
  EXPECT_FALSE(scalar(std::nan("")).is_zero());
}

TEST(Scalar, ARealOutsideAnIntegersRangeBecomesItsNearestBound) {
  EXPECT_EQ(scalar(1e300).as<std::int64_t>(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(scalar(-1e300).as<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(scalar(0x1p63).as<std::int64_t>(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(scalar(-1.0).as<std::uint64_t>(), 0u);
  EXPECT_EQ(scalar(0x1p64).as<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(scalar(300.0).as<std::uint8_t>(), 255);
  EXPECT_EQ(scalar(-128.9).as<std::int8_t>(), -128);
  EXPECT_EQ(scalar(127.9).as<std::int8_t>(), 127);
  EXPECT_EQ(scalar(std::nan("")).as<std::int32_t>(), 0);
  EXPECT_EQ(scalar(-2.7).as<std::int32_t>(), -2);
}

TEST(Scalar, EqualOnesAreEqualBytesWhereverTheyWereMade) {
  alignas(scalar) std::byte dirty[sizeof(scalar)];
  alignas(scalar) std::byte clean[sizeof(scalar)];
  std::memset(dirty, 0xff, sizeof(dirty));
  std::memset(clean, 0x00, sizeof(clean));
  ::new (dirty) scalar(1.5);
  ::new (clean) scalar(1.5);
  EXPECT_EQ(std::memcmp(dirty, clean, sizeof(scalar)), 0);
}

}  // namespace
}  // namespace troupe
