#pragma once

#include <troupe/tensor/dtype.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>

/// Converts elements to the type they are computed in, and back. Loops over these functions
/// vectorise.
namespace troupe::cpu {

/// The type of sums of an element type; integers modulo 2³².
template <class T>
struct sums_of {
  using type = float;
};
template <>
struct sums_of<double> {
  using type = double;
};
template <>
struct sums_of<std::int8_t> {
  using type = std::uint32_t;
};

template <class To, class T>
[[nodiscard]] inline To widened(T value) noexcept {
  if constexpr (std::same_as<T, f16>) {
    // The exponent's bias by a product, which also makes subnormals normal.
    const std::uint32_t magnitude = (value.bits & 0x7fffU) << 13;
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
    const std::uint32_t special = magnitude | 0x7f800000U;
    const std::uint32_t bits =
        (value.bits & 0x7c00U) == 0x7c00U ? special : std::bit_cast<std::uint32_t>(scaled);
    return static_cast<To>(std::bit_cast<float>(bits | (value.bits & 0x8000U) << 16));
  } else if constexpr (std::same_as<T, bf16> || std::same_as<T, e4m3>) {
    return static_cast<To>(static_cast<float>(value));
  } else if constexpr (std::same_as<T, std::int8_t>) {
    if constexpr (std::same_as<To, std::uint32_t>) {
      return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
    } else {
      return static_cast<To>(value);
    }
  } else {
    return static_cast<To>(value);
  }
}

/// Rounded to nearest even; e4m3 and i8 saturate.
template <class T, class Real>
[[nodiscard]] inline T narrowed(Real value) noexcept {
  if constexpr (std::same_as<T, e4m3>) {
    return e4m3(std::clamp(static_cast<float>(value), -448.F, 448.F));  // NaN stays
  } else if constexpr (std::same_as<T, std::int8_t>) {
    const auto whole = static_cast<float>(std::nearbyint(value));
    return static_cast<std::int8_t>(std::isnan(whole) ? 0.F : std::clamp(whole, -128.F, 127.F));
  } else if constexpr (std::same_as<T, f16> || std::same_as<T, bf16>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace troupe::cpu
