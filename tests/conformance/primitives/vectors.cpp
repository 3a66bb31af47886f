#include "vectors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe::conformance {
namespace {

/// Exponent and mantissa of a floating type.
struct float_format {
  int exponent_bits;
  int mantissa_bits;
};

float_format format_of(dtype type) {
  switch (type) {
    case dtype::f64:
      return {11, 52};
    case dtype::f32:
      return {8, 23};
    case dtype::f16:
      return {5, 10};
    case dtype::bf16:
      return {8, 7};
    case dtype::e4m3:
      return {4, 3};
    default:
      return {5, 2};
  }
}

/// 2^exponent, from a table: sorts of the reference ask for millions.
long double power_of_two(int exponent) {
  constexpr int most = 1100;
  static const std::vector<long double> powers = [] {
    std::vector<long double> made;
    for (int e = -most; e <= most; ++e)
      made.push_back(std::ldexp(1.0L, e));
    return made;
  }();
  return powers.at(static_cast<std::size_t>(exponent + most));
}

element_value float_value(dtype type, std::uint64_t bits) {
  const auto [exponent_bits, mantissa_bits] = format_of(type);
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << mantissa_bits) - 1);
  const int most = (1 << exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & most;
  element_value value;
  value.bits = bits;
  value.negative = (bits >> (exponent_bits + mantissa_bits) & 1) != 0;
  const bool beyond = exponent == most;
  if (type == dtype::e4m3) {
    value.nan = beyond && mantissa == 7;
  } else if (beyond) {
    value.nan = mantissa != 0;
    value.number = std::numeric_limits<long double>::infinity();
  }
  if (!beyond || type == dtype::e4m3) {
    const int bias = most / 2;
    const auto whole = static_cast<long double>(
        exponent == 0 ? mantissa : mantissa | std::uint64_t{1} << mantissa_bits);
    value.number = whole * power_of_two(std::max(exponent, 1) - bias - mantissa_bits);
  }
  if (value.negative) value.number = -value.number;
  return value;
}

std::vector<element_bits> bits_in(const std::vector<std::byte>& bytes, std::int64_t size) {
  std::vector<element_bits> all(bytes.size() / static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::memcpy(all[i].words.data(), bytes.data() + i * static_cast<std::size_t>(size),
                static_cast<std::size_t>(size));
  }
  return all;
}

element_bits random_bits(scene& s, dtype type) {
  element_bits made;
  const auto bits = static_cast<unsigned>(size_of(type) * 8);
  for (unsigned word = 0; word * 64 < bits; ++word)
    made.words.at(word) = s.generator()() >> (bits < 64 ? 64 - bits : 0);
  if (type == dtype::boolean) made.words[0] &= 1;
  return made;
}

/// For a type with several words, those of each word.
std::vector<std::uint64_t> special_bits(dtype type) {
  if (type == dtype::boolean) return {0, 1};
  if (is_complex(type)) return {0, 0x8000000000000000, 0x7ff8000000000000, 0x3ff0000000000000};
  const auto bits = static_cast<unsigned>(size_of(type) * 8);
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  std::vector<std::uint64_t> all{0, 1, sign, sign - 1, sign + 1, sign | (sign - 1)};
  if (is_float(type)) {
    const auto [exponent_bits, mantissa_bits] = format_of(type);
    const std::uint64_t infinity = ((std::uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
    const std::uint64_t one = ((std::uint64_t{1} << (exponent_bits - 1)) - 1) << mantissa_bits;
    for (const std::uint64_t magnitude :
         {infinity, infinity - 1, infinity + 1, one, infinity | infinity >> 1}) {
      all.push_back(magnitude & (sign - 1));
      all.push_back(sign | (magnitude & (sign - 1)));
    }
  }
  return all;
}

}  // namespace

element_value value_of(dtype type, const element_bits& bits) {
  if (is_float(type)) return float_value(type, bits.words[0]);
  const auto width = static_cast<unsigned>(size_of(type) * 8);
  element_value value;
  value.bits = bits.words[0];
  const bool is_signed =
      type == dtype::i8 || type == dtype::i16 || type == dtype::i32 || type == dtype::i64;
  value.negative = is_signed && (bits.words[0] >> (width - 1) & 1) != 0;
  value.number = static_cast<long double>(bits.words[0]);
  if (value.negative) value.number -= power_of_two(static_cast<int>(width));
  return value;
}

std::vector<element_value> values_of(dtype type, std::span<const element_bits> bits) {
  std::vector<element_value> values(bits.size());
  std::ranges::transform(bits, values.begin(),
                         [&](const element_bits& one) { return value_of(type, one); });
  return values;
}

bool goes_before(const element_value& a, const element_value& b) {
  if (a.nan != b.nan) return b.nan;
  if (a.nan) {
    if (a.negative != b.negative) return b.negative;
    return a.bits < b.bits;
  }
  if (a.number != b.number) return a.number < b.number;
  return a.negative && !b.negative;
}
bool goes_before(dtype type, const element_bits& a, const element_bits& b) {
  return goes_before(value_of(type, a), value_of(type, b));
}

void fill_bits(test_tensor& t, const std::vector<element_bits>& bits) {
  const auto size = static_cast<std::size_t>(size_of(t.view.type()));
  for_each_offset(t.view, [&](std::size_t flat, std::int64_t offset) {
    std::byte* const at = t.given.in(t.given.memory->image, offset);
    std::memcpy(at, bits[flat].words.data(), size);
    t.values[flat] = load(t.view.type(), at);
  });
}

void fill_bits(scene& s, test_tensor& t, content with) {
  const dtype type = t.view.type();
  std::vector<element_bits> bits(static_cast<std::size_t>(t.view.count()));
  std::vector<element_bits> palette;
  if (with == content::special) {
    for (const std::uint64_t one : special_bits(type))
      palette.push_back({{one, is_complex(type) ? one : 0}});
  } else if (with == content::few || with == content::equal) {
    for (int i = 0; i < (with == content::few ? 3 : 1); ++i)
      palette.push_back(random_bits(s, type));
  }
  for (element_bits& one : bits)
    one = palette.empty() ? random_bits(s, type) : palette[s.generator()() % palette.size()];
  if (with == content::ascending || with == content::descending) {
    std::ranges::stable_sort(bits, [&](const element_bits& a, const element_bits& b) {
      if (is_complex(type)) return a.words < b.words;
      return goes_before(type, a, b);
    });
    if (with == content::descending) std::ranges::reverse(bits);
  }
  fill_bits(t, bits);
}

std::vector<element_bits> bits_before(const test_tensor& t) {
  const std::int64_t size = size_of(t.view.type());
  std::vector<std::byte> bytes;
  for_each_offset(t.view, [&](std::size_t, std::int64_t offset) {
    const std::byte* const at = t.given.in(t.given.memory->image, offset);
    bytes.insert(bytes.end(), at, at + size);
  });
  return bits_in(bytes, size);
}

std::vector<element_bits> bits_now(scene& s, const test_tensor& t) {
  return bits_in(s.bytes_now(t), size_of(t.view.type()));
}

std::vector<std::int64_t> integers_now(scene& s, const test_tensor& t) {
  std::vector<std::int64_t> values;
  for (const element_bits& one : bits_now(s, t))
    values.push_back(static_cast<std::int64_t>(one.words[0]));
  return values;
}

std::vector<std::int64_t> random_offsets(scene& s, std::int64_t n) {
  std::vector<std::int64_t> offsets{s.generator()() % 2 == 0 ? 0 : n / 50};
  const std::int64_t end = s.generator()() % 2 == 0 ? n : n - n / 70;
  while (offsets.back() < end) {
    constexpr std::int64_t usual[] = {0, 0, 1, 1, 2, 5, 31, 33, 300, 5000};
    const std::int64_t length = usual[s.generator()() % std::size(usual)];
    offsets.push_back(std::min(end, offsets.back() + length));
  }
  offsets.push_back(offsets.back());
  return offsets;
}

test_tensor& integers(scene& s, const std::vector<std::int64_t>& values, std::int64_t stride) {
  test_tensor& t = s.vector(dtype::i64, static_cast<std::int64_t>(values.size()), stride);
  std::vector<element_bits> bits;
  bits.reserve(values.size());
  for (const std::int64_t one : values)
    bits.push_back({{static_cast<std::uint64_t>(one), 0}});
  fill_bits(t, bits);
  return t;
}

std::string case_name(dtype type, std::int64_t n, content with) {
  constexpr const char* names[] = {"any", "special", "few", "equal", "ascending", "descending"};
  return std::string(troupe::to_string(type)) + "[" + std::to_string(n) + "] " +
         names[static_cast<int>(with)];
}

}  // namespace troupe::conformance
