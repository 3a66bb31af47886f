#pragma once

#include <bit>
#include <cstdint>

namespace troupe {

namespace detail {

/// Converts f32 to a float with `Exponent` and `Mantissa` bits, rounding to nearest even. `Finite`:
/// there are no infinities, all ones is the only NaN, and out-of-range values become NaN, as OCP
/// FP8 prescribes for e4m3 without saturation. Source: OCP 8-bit Floating Point Specification 1.0.
template <int Exponent, int Mantissa, bool Finite>
constexpr std::uint16_t narrow(float value) noexcept {
  constexpr int bias = (1 << (Exponent - 1)) - 1;
  constexpr std::uint32_t exponent_mask = (1u << Exponent) - 1;
  constexpr std::uint32_t mantissa_mask = (1u << Mantissa) - 1;
  constexpr std::uint32_t infinity = exponent_mask << Mantissa;
  constexpr std::uint32_t nan =
      Finite ? (infinity | mantissa_mask) : (infinity | (mantissa_mask + 1) / 2);
  constexpr std::uint32_t largest = Finite ? nan - 1 : infinity - 1;

  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 31) << (Exponent + Mantissa);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | nan);
  if (magnitude == 0x7f800000u) {
    return static_cast<std::uint16_t>(sign | (Finite ? nan : infinity));
  }

  const int exponent = static_cast<int>(magnitude >> 23) - 127 + bias;
  std::uint32_t significand = magnitude & 0x7fffffu;
  std::uint32_t rounded = 0;
  if (exponent >= 1) {
    constexpr int shift = 23 - Mantissa;
    const std::uint32_t base =
        (static_cast<std::uint32_t>(exponent) << Mantissa) | (significand >> shift);
    const std::uint32_t rest = significand & ((1u << shift) - 1);
    constexpr std::uint32_t half = 1u << (shift - 1);
    rounded = base + ((rest > half || (rest == half && (base & 1u))) ? 1u : 0u);
  } else {
    // A subnormal f32 (relevant only for bf16) has no hidden bit, and its exponent 0 means 1.
    const bool hidden_bit = magnitude >= 0x800000u;
    const int shift = 23 - Mantissa + (hidden_bit ? 1 : 0) - exponent;
    if (shift > 24) return static_cast<std::uint16_t>(sign);
    if (hidden_bit) significand |= 0x800000u;
    const std::uint32_t base = significand >> shift;
    const std::uint32_t rest = significand & ((1u << shift) - 1);
    const std::uint32_t half = 1u << (shift - 1);
    rounded = base + ((rest > half || (rest == half && (base & 1u))) ? 1u : 0u);
  }
  if (rounded > largest) rounded = Finite ? nan : infinity;
  return static_cast<std::uint16_t>(sign | rounded);
}

template <int Exponent, int Mantissa, bool Finite>
constexpr float widen(std::uint32_t bits) noexcept {
  constexpr int bias = (1 << (Exponent - 1)) - 1;
  constexpr std::uint32_t exponent_mask = (1u << Exponent) - 1;
  constexpr std::uint32_t mantissa_mask = (1u << Mantissa) - 1;
  const std::uint32_t sign = (bits >> (Exponent + Mantissa)) << 31;
  const std::uint32_t exponent = (bits >> Mantissa) & exponent_mask;
  std::uint32_t mantissa = bits & mantissa_mask;
  if (exponent == exponent_mask && (!Finite || mantissa == mantissa_mask)) {
    return std::bit_cast<float>(sign | 0x7f800000u | (Finite || mantissa != 0 ? 0x400000u : 0u));
  }
  if (exponent == 0) {
    if (mantissa == 0) return std::bit_cast<float>(sign);
    int shift = 0;
    while ((mantissa & (mantissa_mask + 1)) == 0) {
      mantissa <<= 1;
      ++shift;
    }
    const auto widened = static_cast<std::uint32_t>(127 - bias + 1 - shift);
    return std::bit_cast<float>(sign | (widened << 23) |
                                ((mantissa & mantissa_mask) << (23 - Mantissa)));
  }
  const std::uint32_t widened = exponent + static_cast<std::uint32_t>(127 - bias);
  return std::bit_cast<float>(sign | (widened << 23) | (mantissa << (23 - Mantissa)));
}

}  // namespace detail

/// IEEE half precision: storage and conversion to and from float (round to nearest even).
struct f16 {
  std::uint16_t bits = 0;
  f16() = default;
  constexpr explicit f16(float value) noexcept : bits(detail::narrow<5, 10, false>(value)) {}
  constexpr explicit operator float() const noexcept { return detail::widen<5, 10, false>(bits); }
  friend constexpr bool operator==(f16, f16) = default;
};

/// bfloat16: the upper half of a float.
struct bf16 {
  std::uint16_t bits = 0;
  bf16() = default;
  constexpr explicit bf16(float value) noexcept : bits(detail::narrow<8, 7, false>(value)) {}
  constexpr explicit operator float() const noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  friend constexpr bool operator==(bf16, bf16) = default;
};

/// OCP FP8 e4m3: largest finite value 448, no infinities. One is 0x38.
struct e4m3 {
  std::uint8_t bits = 0;
  e4m3() = default;
  constexpr explicit e4m3(float value) noexcept
      : bits(static_cast<std::uint8_t>(detail::narrow<4, 3, true>(value))) {}
  constexpr explicit operator float() const noexcept { return detail::widen<4, 3, true>(bits); }
  friend constexpr bool operator==(e4m3, e4m3) = default;
};

/// OCP FP8 e5m2: largest finite value 57 344. One is 0x3C.
struct e5m2 {
  std::uint8_t bits = 0;
  e5m2() = default;
  constexpr explicit e5m2(float value) noexcept
      : bits(static_cast<std::uint8_t>(detail::narrow<5, 2, false>(value))) {}
  constexpr explicit operator float() const noexcept { return detail::widen<5, 2, false>(bits); }
  friend constexpr bool operator==(e5m2, e5m2) = default;
};

}  // namespace troupe
