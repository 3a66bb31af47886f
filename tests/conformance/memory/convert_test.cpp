#include "conformance/scene.hpp"

#include <troupe/memory/convert.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

namespace troupe::conformance {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Bits of the significand, smallest exponent and largest value of a floating type.
struct format {
  int digits;
  int least_exponent;  // the exponent of the smallest subnormal
  double largest;
};
std::optional<format> format_of(dtype type) {
  switch (real_of(type)) {
    case dtype::f64:
      return format{53, -1074, std::numeric_limits<double>::max()};
    case dtype::f32:
      return format{24, -149, std::numeric_limits<float>::max()};
    case dtype::f16:
      return format{11, -24, 65504};
    case dtype::bf16:
      return format{8, -133, 0x1.FEp127};
    case dtype::e4m3:
      return format{4, -9, 448};
    case dtype::e5m2:
      return format{3, -16, 57344};
    default:
      return std::nullopt;
  }
}

/// `value` rounded to nearest even in `type`'s grid: the definition, not the algorithm under test.
double rounded(dtype type, double value) {
  const format f = *format_of(type);
  if (std::isnan(value)) return nan;
  const bool finite_only = type == dtype::e4m3;
  if (std::isinf(value)) return finite_only ? nan : value;
  if (value == 0) return value;
  const int exponent = std::max(std::ilogb(value) - f.digits + 1, f.least_exponent);
  const double steps = std::ldexp(value, -exponent);
  const double nearest = std::ldexp(std::nearbyint(steps), exponent);
  if (std::abs(nearest) <= f.largest) return nearest;
  return finite_only ? nan : std::copysign(infinity, value);
}

/// The correct conversion of `value` to integer type `to`.
double saturated(dtype to, double value) {
  const int bits = static_cast<int>(size_of(to) * 8);
  const bool is_signed =
      to == dtype::i8 || to == dtype::i16 || to == dtype::i32 || to == dtype::i64;
  if (std::isnan(value)) return 0;
  const double beyond = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  const double least = is_signed ? -beyond : 0;
  if (value <= least) return least;
  if (value >= beyond) return beyond - (bits < 64 ? 1 : 0);  // 2^64 − 1 is loaded as 2^64
  return std::trunc(value);
}

/// An integer value of `from` wrapped to `to`. Values below are exact in f64.
double wrapped(dtype to, double value) {
  const bool negative = value < 0;
  const auto bits = negative ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
                             : static_cast<std::uint64_t>(value);
  std::byte bytes[8];
  std::memcpy(bytes, &bits, sizeof bits);  // little-endian: the low bytes are the wrapped value
  return load(to, bytes).real();
}

number expected(dtype from, dtype to, number value) {
  if (to == dtype::boolean) return value != number(0) ? 1 : 0;
  if (is_complex(to)) {
    return {rounded(to, value.real()), is_complex(from) ? rounded(to, value.imag()) : 0};
  }
  if (is_float(to)) return rounded(to, value.real());
  if (is_float(from) || is_complex(from)) return saturated(to, value.real());
  return wrapped(to, value.real());
}

/// Values at every edge of every type, as far as `type` holds them.
std::vector<number> edges(dtype type) {
  std::vector<double> reals = {
      0,           1,     -1,         0.5,          2.5,           -2.5,          3,
      7,           100,   -100,       127,          128,           255,           256,
      300,         -128,  -129,       32767,        32768,         65504,         65519,
      65520,       65535, 65536,      448,          464,           465,           57344,
      61440,       61441, 2147483647, 2147483648.0, -2147483648.0, -2147483649.0, 4294967295.0,
      4294967296.0};
  if (is_integer(type) || type == dtype::boolean) {
    const int bits = type == dtype::boolean ? 1 : static_cast<int>(size_of(type) * 8);
    const bool is_signed = saturated(type, -1) == -1;
    std::vector<number> kept;
    for (double v : {-129.0, -100.0, -3.0, -2.0, 2.0, 9.0, 1048577.0, 16777217.0, 33554435.0,
                     9007199254740991.0, -9007199254740991.0, 0x1p52 + 0x1p29 + 1})
      reals.push_back(v);
    for (const double v : reals) {
      const double beyond = std::ldexp(1.0, is_signed ? bits - 1 : bits);
      if (v == std::trunc(v) && v < beyond && v >= (is_signed ? -beyond : 0)) kept.emplace_back(v);
    }
    return kept;
  }
  for (int e = -160; e <= 130; ++e) {
    for (const double m : {1.0, 1.0 + 0x1p-8, 1.0 + 0x1p-11, 1.0 + 0x1p-11 + 0x1p-40, 1.0625, 1.125,
                           1.1875, 1.25, 1.375, 1.75, 1.9999}) {
      reals.push_back(std::ldexp(m, e));
      reals.push_back(-std::ldexp(m, e));
    }
  }
  reals.insert(reals.end(), {nan, infinity, -infinity, 1e300, -1e300, 0x1p63, -0x1p63, 0x1p64});
  std::vector<number> values;
  values.reserve(reals.size());
  for (const double v : reals)
    values.emplace_back(v, is_complex(type) ? -v / 2 : 0);
  return values;
}

bool equal(number actual, number expected) {
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  return same(actual.real(), expected.real()) && same(actual.imag(), expected.imag());
}

TEST(MemoryConvert, ConvertsEveryTypeToEveryTypeAtEveryEdge) {
  for (int f = 0; f < dtype_count; ++f) {
    for (int t = 0; t < dtype_count; ++t) {
      const auto from = static_cast<dtype>(f);
      const auto to = static_cast<dtype>(t);
      const std::vector<number> values = edges(from);
      const auto n = static_cast<std::int64_t>(values.size());
      scene s;
      s.name(std::string(to_string(from)) + " to " + std::string(to_string(to)));
      auto& source = s.vector(from, n, 2);
      s.fill(source, values);
      auto& target = s.vector(to, n, 3);
      s.run(memory::convert{.from = source.view, .to = target.view});
      const std::vector<number> now = s.elements_now(target);
      for (std::size_t i = 0; i < now.size(); ++i) {
        // From the value as the source type holds it.
        const number want = expected(from, to, source.values[i]);
        if (equal(now[i], want)) continue;
        ADD_FAILURE() << source.values[i] << " became " << now[i] << ", expected " << want
                      << s.note();
        break;
      }
    }
  }
}

TEST(MemoryConvert, TreatsLongPackedTensorsAsItDoesShortOnes) {
  constexpr std::int64_t repeats = 8;
  for (int f = 0; f < dtype_count; ++f) {
    for (int t = 0; t < dtype_count; ++t) {
      const auto from = static_cast<dtype>(f);
      const auto to = static_cast<dtype>(t);
      // An odd number, so that no vector begins with the same element as the one before.
      std::vector<number> values = edges(from);
      while (values.size() < 4501)
        values.insert(values.end(), values.begin(),
                      values.begin() + static_cast<std::ptrdiff_t>(
                                           std::min(values.size(), 4501 - values.size())));
      values.resize(4501);
      const auto n = static_cast<std::int64_t>(values.size());
      scene s;
      s.name(std::string(to_string(from)) + " to " + std::string(to_string(to)));
      auto& strided = s.vector(from, n, 2);
      s.fill(strided, values);
      auto& few = s.vector(to, n, 2);
      s.run(memory::convert{.from = strided.view, .to = few.view});
      const std::vector<std::byte> once = s.bytes_now(few);

      scene longer;
      longer.keep_layouts();
      auto& packed = longer.vector(from, n * repeats);
      std::vector<number> again;
      for (std::int64_t i = 0; i < repeats; ++i)
        again.insert(again.end(), values.begin(), values.end());
      longer.fill(packed, again);
      auto& many = longer.vector(to, n * repeats);
      longer.run(memory::convert{.from = packed.view, .to = many.view});
      const std::vector<std::byte> all = longer.bytes_now(many);
      for (std::size_t i = 0; i < repeats; ++i) {
        ASSERT_TRUE(std::equal(once.begin(), once.end(),
                               all.begin() + static_cast<std::ptrdiff_t>(i * once.size())))
            << "repetition " << i << s.note();
      }
    }
  }
}

template <class From, class To>
void check_bits(runner& device, const std::vector<From>& patterns) {
  const auto n = static_cast<std::int64_t>(patterns.size());
  const any_tensor from = device.allocate(dtype_of<From>, n);
  const any_tensor to = device.allocate(dtype_of<To>, n);
  device.upload(from, std::as_bytes(std::span(patterns)));
  ASSERT_TRUE(device(memory::convert{.from = from, .to = to}));
  const auto bits_of = [](To value) {
    return std::bit_cast<std::array<std::uint8_t, sizeof(To)>>(value);
  };
  std::vector<To> made(patterns.size());
  device.download(to, std::as_writable_bytes(std::span(made)));
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const auto expected = static_cast<To>(static_cast<float>(patterns[i]));
    ASSERT_EQ(bits_of(made[i]), bits_of(expected))
        << to_string(dtype_of<From>) << " to " << to_string(dtype_of<To>) << ", element " << i
        << ": " << static_cast<float>(patterns[i]) << " became " << static_cast<float>(made[i]);
  }
  device.release();
}

template <class From>
void check_every_bit(const std::vector<From>& patterns) {
  const auto device = make_runner();
  check_bits<From, f16>(*device, patterns);
  check_bits<From, bf16>(*device, patterns);
  check_bits<From, e4m3>(*device, patterns);
  check_bits<From, e5m2>(*device, patterns);
  check_bits<From, float>(*device, patterns);
}

template <class Small>
std::vector<Small> every_pattern() {
  std::vector<Small> patterns;
  for (std::uint32_t bits = 0; bits < 1u << (8 * sizeof(Small)); ++bits) {
    Small one;
    one.bits = static_cast<decltype(one.bits)>(bits);
    patterns.push_back(one);
  }
  return patterns;
}

// NaNs keep their sign, zeros too, and every backend makes the same bits of them.
TEST(MemoryConvert, MakesOfSmallFloatsWhatTheirDefinitionSays) {
  check_every_bit(every_pattern<f16>());
  check_every_bit(every_pattern<bf16>());
  check_every_bit(every_pattern<e4m3>());
  check_every_bit(every_pattern<e5m2>());
  std::vector<float> floats;
  for (std::uint32_t upper = 0; upper < 1u << 16; ++upper) {
    for (const std::uint32_t lower : {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u, 0x3000u, 0x7fffu,
                                      0x8000u, 0x8001u, 0xefffu, 0xf000u, 0xffffu}) {
      floats.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  check_every_bit(floats);
}

TEST(MemoryConvert, KeepsSixtyFourBits) {
  scene s;
  auto& from = s.vector(dtype::u64, 1);
  s.fill(from, 0x1p63);
  auto& to = s.vector(dtype::i64, 1);
  s.run(memory::convert{.from = from.view, .to = to.view});
  EXPECT_EQ(s.elements_now(to)[0], number(-0x1p63));
}

TEST(MemoryConvert, TakesAnyShapeAndStrides) {
  for (const scene::extents& size : {scene::extents{}, {0, 3}, {40, 30}, {2, 3, 4}, {1000}}) {
    scene s;
    scene::extents rows(size.size()), columns(size.size());
    std::int64_t step = 1;
    for (std::size_t i = 0; i < size.size(); ++i) {
      columns[i] = step;
      step = step * std::max<std::int64_t>(size[i], 1) + 1;
    }
    step = 1;
    for (std::size_t i = size.size(); i-- > 0;) {
      rows[i] = step;
      step *= std::max<std::int64_t>(size[i], 1);
    }
    auto& from = s.tensor(dtype::i16, size, columns);
    auto& to = s.tensor(dtype::f32, size, rows);
    s.run(memory::convert{.from = from.view, .to = to.view});
    EXPECT_EQ(s.elements_now(to), from.values);
  }
}

TEST(MemoryConvert, RefusesWhatItCannotDo) {
  scene s;
  const auto from = s.vector(dtype::f32, 4).view;
  const auto inside = any_tensor::unowned(from.address(), dtype::f16, {4});
  s.refuse(memory::convert{.from = from, .to = inside}, errc::aliasing, "to is written");
}

}  // namespace
}  // namespace troupe::conformance
