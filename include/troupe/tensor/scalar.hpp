#pragma once

#include <troupe/tensor/small_floats.hpp>

#include <array>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace troupe {

/// A number of any element type, used in requests (`alpha`, `beta`, a fill value) and as the reply
/// of reductions. Integers keep all 64 bits.
class scalar {
 public:
  enum class kind : std::uint8_t { integer, unsigned_integer, real, complex };

  constexpr scalar() = default;
  template <class T>
    requires std::is_arithmetic_v<T>
  constexpr scalar(T value) noexcept {
    if constexpr (std::is_floating_point_v<T>) {
      kind_ = kind::real;
      real_ = static_cast<double>(value);
    } else if constexpr (std::is_signed_v<T>) {
      integer_ = static_cast<std::int64_t>(value);
    } else {
      kind_ = kind::unsigned_integer;
      integer_ = static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
    }
  }
  constexpr scalar(std::complex<float> value) noexcept
      : kind_(kind::complex),
        real_(static_cast<double>(value.real())),
        imaginary_(static_cast<double>(value.imag())) {}
  constexpr scalar(std::complex<double> value) noexcept
      : kind_(kind::complex), real_(value.real()), imaginary_(value.imag()) {}
  template <class T>
    requires(std::same_as<T, f16> || std::same_as<T, bf16> || std::same_as<T, e4m3> ||
             std::same_as<T, e5m2>)
  constexpr scalar(T value) noexcept : scalar(static_cast<float>(value)) {}

  [[nodiscard]] constexpr kind what() const noexcept { return kind_; }
  [[nodiscard]] constexpr bool is_zero() const noexcept {
    return integer_ == 0 && real_ == 0.0 && imaginary_ == 0.0;
  }

  /// The value converted to `T`. A real `T` drops the imaginary part. A real value converted to an
  /// integer is truncated; out of range it becomes the nearest bound, and NaN becomes 0.
  template <class T>
  [[nodiscard]] constexpr T as() const noexcept {
    if constexpr (std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>) {
      using part = typename T::value_type;
      return T(as<part>(), static_cast<part>(imaginary_));
    } else if constexpr (std::is_arithmetic_v<T>) {
      switch (kind_) {
        case kind::integer:
          return static_cast<T>(integer_);
        case kind::unsigned_integer:
          return static_cast<T>(static_cast<std::uint64_t>(integer_));
        case kind::real:
        case kind::complex:
          return from_real<T>();
      }
      return T{};
    } else {
      return T(as<float>());
    }
  }

  /// True when the value has an imaginary part.
  [[nodiscard]] constexpr bool has_imaginary() const noexcept { return imaginary_ != 0.0; }

  friend constexpr bool operator==(const scalar&, const scalar&) = default;

 private:
  template <class T>
  [[nodiscard]] constexpr T from_real() const noexcept {
    if constexpr (std::is_integral_v<T> && !std::same_as<T, bool>) {
      // max() + 1 is a power of two and therefore exact as a double; max() itself is not.
      constexpr T half = std::numeric_limits<T>::max() / 2 + 1;
      constexpr double above = 2.0 * static_cast<double>(half);
      if (real_ >= above) return std::numeric_limits<T>::max();
      if (real_ < static_cast<double>(std::numeric_limits<T>::min())) {
        return std::numeric_limits<T>::min();
      }
      if (real_ != real_) return T{};
    }
    return static_cast<T>(real_);
  }

  kind kind_ = kind::integer;
  // Named, so that it is initialised: scalars are sent and compared as bytes.
  std::array<std::uint8_t, 7> unused_{};
  std::int64_t integer_ = 0;
  double real_ = 0.0;
  double imaginary_ = 0.0;
};

}  // namespace troupe
