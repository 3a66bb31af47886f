#pragma once

#include "libraries/memory/shared/conversion.hpp"

#include <troupe/collective/reduction.hpp>

#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace troupe::collective {

/// How elements of type `T` are combined: in which type, and by which rules.
template <class T>
struct combination {
  static constexpr bool is_complex = elementwise::is_complex_number<T>;
  static constexpr bool is_small = elementwise::is_small_float<T>;
  static constexpr bool is_integer = std::integral<T> && !std::same_as<T, bool>;
  static constexpr bool is_floating = is_small || std::floating_point<T>;
  /// Wide enough; integers wrap, which signed ones may not.
  using sum = std::conditional_t<
      is_small, float,
      std::conditional_t<is_integer,
                         std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>, T>>;

  [[nodiscard]] static constexpr sum widen(T value) noexcept {
    if constexpr (std::same_as<T, bool>) {
      return value;
    } else {
      return static_cast<sum>(value);
    }
  }
  [[nodiscard]] static constexpr T narrow(sum value) noexcept {
    if constexpr (is_small) {
      return T(value);
    } else {
      return static_cast<T>(value);
    }
  }
  [[nodiscard]] static constexpr sum scaled(sum value, double factor) noexcept {
    if constexpr (is_complex) {
      return value * static_cast<typename T::value_type>(factor);
    } else if constexpr (is_floating) {
      return value * static_cast<sum>(factor);
    } else {
      return value;
    }
  }
  [[nodiscard]] static constexpr sum added(sum a, sum b) noexcept {
    if constexpr (std::same_as<T, bool>) {
      return a || b;
    } else {
      return a + b;
    }
  }
  [[nodiscard]] static constexpr sum multiplied(sum a, sum b) noexcept {
    if constexpr (std::same_as<T, bool>) {
      return a && b;
    } else {
      return a * b;
    }
  }
  /// The lesser or the greater; a NaN wins.
  template <bool Greater>
  [[nodiscard]] static constexpr sum chosen(sum a, sum b) noexcept {
    if constexpr (is_complex) {
      return a;
    } else if constexpr (is_floating) {
      if (a != a) return a;
      if (b != b) return b;
      return (Greater ? a < b : b < a) ? b : a;
    } else {
      const T x = static_cast<T>(a);
      const T y = static_cast<T>(b);
      return (Greater ? x < y : y < x) ? b : a;
    }
  }
  /// The quotient of the sum and the number of ranks.
  [[nodiscard]] static constexpr T averaged(sum value, std::int64_t ranks) noexcept {
    if constexpr (is_complex) {
      return value / static_cast<typename T::value_type>(ranks);
    } else if constexpr (is_floating) {
      return narrow(value / static_cast<sum>(ranks));
    } else if constexpr (std::same_as<T, bool>) {
      return value;
    } else if constexpr (std::signed_integral<T>) {
      return static_cast<T>(static_cast<std::int64_t>(static_cast<T>(value)) / ranks);
    } else {
      return static_cast<T>(static_cast<T>(value) / static_cast<std::uint64_t>(ranks));
    }
  }
};

}  // namespace troupe::collective
