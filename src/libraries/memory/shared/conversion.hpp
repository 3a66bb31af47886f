#pragma once

#include <troupe/tensor/dtype.hpp>

#include <bit>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

/// Conversions between element types by the rules that `memory::convert` states.
///
/// A source type is first widened, without loss, to one of six carriers; so there are 17 widenings
/// and 6 · 17 narrowings instead of 17 · 17 conversions. All of it is constexpr, so that kernels
/// run the very same code.
namespace troupe::elementwise {

template <class T>
inline constexpr bool is_small_float =
    std::same_as<T, f16> || std::same_as<T, bf16> || std::same_as<T, e4m3> || std::same_as<T, e5m2>;

template <class T>
inline constexpr bool is_complex_number =
    std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;

/// The carrier that holds every value of `T`.
template <class T>
using carrier_of = std::conditional_t<
    is_complex_number<T> || std::same_as<T, double> || std::same_as<T, std::uint64_t>, T,
    std::conditional_t<is_small_float<T> || std::same_as<T, float>, float, std::int64_t>>;

/// As static_cast between floating types, but a NaN keeps its sign and the leading bits of its
/// payload on a GPU, too, whose own instruction knows one NaN only.
template <std::floating_point To, std::floating_point From>
constexpr To float_cast(From value) noexcept {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(To) > sizeof(From)) {
    if (value != value) {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      return std::bit_cast<To>(std::uint64_t{bits & 0x80000000u} << 32 | 0x7ff8000000000000u |
                               std::uint64_t{bits & 0x3fffffu} << 29);
    }
  } else if constexpr (sizeof(To) < sizeof(From)) {
    if (value != value) {
      const auto bits = std::bit_cast<std::uint64_t>(value);
      return std::bit_cast<To>(static_cast<std::uint32_t>(bits >> 32 & 0x80000000u) | 0x7fc00000u |
                               static_cast<std::uint32_t>(bits >> 29 & 0x3fffffu));
    }
  }
#endif
  return static_cast<To>(value);
}

constexpr int leading_zeros(std::uint64_t value) noexcept {
#ifdef __CUDA_ARCH__
  return __clzll(static_cast<long long>(value));  // std::countl_zero gives a wrong count there
#else
  return std::countl_zero(value);
#endif
}

/// `value` as float, rounded to odd: towards zero, with the last bit set where something was lost.
/// Rounding that to fewer bits gives what rounding `value` itself would.
constexpr float odd_float(double value) noexcept {
  // f64 beyond f32's range is too large for every small type, too.
  constexpr double limit = std::numeric_limits<float>::max();
  if (value > limit) return std::numeric_limits<float>::infinity();
  if (value < -limit) return -std::numeric_limits<float>::infinity();
  const auto nearest = float_cast<float>(value);
  const double back = nearest;
  if (back == value || value != value) return nearest;
  const bool away = value > 0 ? back > value : back < value;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(nearest) - (away ? 1u : 0u)) | 1u);
}
constexpr float odd_float(float value) noexcept { return value; }
template <std::integral Integer>
constexpr float odd_float(Integer value) noexcept {
  bool negative = false;
  auto magnitude = static_cast<std::uint64_t>(value);
  if constexpr (std::is_signed_v<Integer>) {
    negative = value < 0;
    if (negative) magnitude = 0 - magnitude;
  }
  // f32 holds 24 bits; the ones below go, and leave the last one set.
  const int dropped = magnitude >> 24 == 0 ? 0 : 40 - leading_zeros(magnitude);
  const std::uint64_t rest = magnitude & ((std::uint64_t{1} << dropped) - 1);
  const auto kept =
      static_cast<std::int32_t>(magnitude >> dropped) | static_cast<std::int32_t>(rest != 0);
  const float result = static_cast<float>(kept) *
                       std::bit_cast<float>(static_cast<std::uint32_t>(127 + dropped) << 23);
  return negative ? -result : result;
}

template <std::integral Integer, std::floating_point Float>
constexpr Integer saturated(Float value) noexcept {
  if (value != value) return 0;
  // 2^bits, exact in every floating type, where the maximum itself may round up to it.
  constexpr Integer half = std::numeric_limits<Integer>::max() / 2 + 1;
  constexpr Float beyond = static_cast<Float>(2) * static_cast<Float>(half);
  if (value >= beyond) return std::numeric_limits<Integer>::max();
  if (value <= static_cast<Float>(std::numeric_limits<Integer>::min())) {
    return std::numeric_limits<Integer>::min();
  }
  return static_cast<Integer>(value);
}

/// A carrier's value as an element of `To`. For bool the element is a byte of 0 or 1.
template <class To, class Carrier>
constexpr To narrowed(Carrier value) noexcept {
  if constexpr (is_complex_number<To>) {
    using part = typename To::value_type;
    if constexpr (is_complex_number<Carrier>) {
      return {narrowed<part>(value.real()), narrowed<part>(value.imag())};
    } else {
      return {narrowed<part>(value), part{}};
    }
  } else if constexpr (std::same_as<To, bool>) {
    return value != Carrier{};
  } else if constexpr (is_complex_number<Carrier>) {
    return narrowed<To>(value.real());
  } else if constexpr (is_small_float<To>) {
    return To(odd_float(value));
  } else if constexpr (std::integral<To> && std::floating_point<Carrier>) {
    return saturated<To>(value);
  } else if constexpr (std::floating_point<To> && std::floating_point<Carrier>) {
    return float_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

/// Calls `f` with a value of the C++ type of `type`.
template <class F>
void for_element_type(dtype type, F f) {
  switch (type) {
    case dtype::f64:
      return f(double{});
    case dtype::f32:
      return f(float{});
    case dtype::f16:
      return f(f16{});
    case dtype::bf16:
      return f(bf16{});
    case dtype::e4m3:
      return f(e4m3{});
    case dtype::e5m2:
      return f(e5m2{});
    case dtype::c64:
      return f(std::complex<float>{});
    case dtype::c128:
      return f(std::complex<double>{});
    case dtype::i8:
      return f(std::int8_t{});
    case dtype::u8:
      return f(std::uint8_t{});
    case dtype::i16:
      return f(std::int16_t{});
    case dtype::u16:
      return f(std::uint16_t{});
    case dtype::i32:
      return f(std::int32_t{});
    case dtype::u32:
      return f(std::uint32_t{});
    case dtype::i64:
      return f(std::int64_t{});
    case dtype::u64:
      return f(std::uint64_t{});
    case dtype::boolean:
      return f(bool{});
  }
}

}  // namespace troupe::elementwise
