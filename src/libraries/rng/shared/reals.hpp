#pragma once

#include "libraries/rng/shared/philox.hpp"

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

/// Random bits as numbers between 0 and 1.
namespace troupe::rng {

/// Inside (0, 1): as many bits as the words have, up to 52, and one set below them. Inverse
/// functions must get neither bound.
constexpr double inner(std::uint64_t bits) noexcept {
  return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
}
template <std::size_t Count>
constexpr double inner(const words<Count>& drawn) noexcept {
  if constexpr (Count == 1) {
    return (static_cast<double>(drawn.word[0]) + 0.5) * 0x1p-32;
  } else {
    return inner(drawn.top64());
  }
}

/// In [0, 1), of 53 bits.
constexpr double from_zero(std::uint64_t bits) noexcept {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// The number of type T next to `x` and greater; x is finite.
template <std::floating_point T>
constexpr T next_above(T x) noexcept {
  using integer = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  if (x == 0) return std::bit_cast<T>(integer{1});
  const auto bits = std::bit_cast<integer>(x);
  return std::bit_cast<T>(x > 0 ? bits + 1 : bits - 1);
}
template <std::floating_point T>
constexpr T next_below(T x) noexcept {
  return -next_above(-x);
}

}  // namespace troupe::rng
