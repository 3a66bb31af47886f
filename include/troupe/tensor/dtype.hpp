#pragma once

#include <troupe/base/export.hpp>
#include <troupe/tensor/small_floats.hpp>

#include <complex>
#include <cstdint>
#include <string_view>

namespace troupe {

/// Element type of a tensor. The values are part of the wire format.
enum class dtype : std::uint8_t {
  f64 = 0,
  f32,
  f16,
  bf16,
  e4m3,  ///< 8-bit float, 4 exponent and 3 mantissa bits (OCP FP8, finite only)
  e5m2,  ///< 8-bit float, 5 exponent and 2 mantissa bits (OCP FP8)
  c64,   ///< complex of two f32
  c128,  ///< complex of two f64
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  boolean,
};
inline constexpr int dtype_count = 17;

/// Bytes of one element.
[[nodiscard]] constexpr std::int64_t size_of(dtype type) noexcept {
  constexpr std::int8_t sizes[dtype_count] = {8, 4, 2, 2, 1, 1, 8, 16, 1, 1, 2, 2, 4, 4, 8, 8, 1};
  return sizes[static_cast<int>(type)];
}

/// The type's short name, such as "bf16".
[[nodiscard]] TROUPE_EXPORT std::string_view to_string(dtype type) noexcept;

[[nodiscard]] constexpr bool is_complex(dtype type) noexcept {
  return type == dtype::c64 || type == dtype::c128;
}
[[nodiscard]] constexpr bool is_float(dtype type) noexcept { return type <= dtype::e5m2; }
[[nodiscard]] constexpr bool is_integer(dtype type) noexcept {
  return type >= dtype::i8 && type <= dtype::u64;
}

namespace detail {
template <class T>
struct dtype_of;
// clang-format off
template <> struct dtype_of<double> { static constexpr dtype value = dtype::f64; };
template <> struct dtype_of<float> { static constexpr dtype value = dtype::f32; };
template <> struct dtype_of<f16> { static constexpr dtype value = dtype::f16; };
template <> struct dtype_of<bf16> { static constexpr dtype value = dtype::bf16; };
template <> struct dtype_of<e4m3> { static constexpr dtype value = dtype::e4m3; };
template <> struct dtype_of<e5m2> { static constexpr dtype value = dtype::e5m2; };
template <> struct dtype_of<std::complex<float>> { static constexpr dtype value = dtype::c64; };
template <> struct dtype_of<std::complex<double>> { static constexpr dtype value = dtype::c128; };
template <> struct dtype_of<std::int8_t> { static constexpr dtype value = dtype::i8; };
template <> struct dtype_of<std::uint8_t> { static constexpr dtype value = dtype::u8; };
template <> struct dtype_of<std::int16_t> { static constexpr dtype value = dtype::i16; };
template <> struct dtype_of<std::uint16_t> { static constexpr dtype value = dtype::u16; };
template <> struct dtype_of<std::int32_t> { static constexpr dtype value = dtype::i32; };
template <> struct dtype_of<std::uint32_t> { static constexpr dtype value = dtype::u32; };
template <> struct dtype_of<std::int64_t> { static constexpr dtype value = dtype::i64; };
template <> struct dtype_of<std::uint64_t> { static constexpr dtype value = dtype::u64; };
template <> struct dtype_of<bool> { static constexpr dtype value = dtype::boolean; };
// clang-format on
}  // namespace detail

/// The `dtype` of a C++ element type.
template <class T>
inline constexpr dtype dtype_of = detail::dtype_of<T>::value;

/// A C++ type that a tensor can hold.
template <class T>
concept element = requires { detail::dtype_of<T>::value; };

}  // namespace troupe
