#pragma once

#include "libraries/memory/shared/conversion.hpp"

#include <cuda_runtime.h>

#include <bit>
#include <concepts>
#include <cstdint>

/// Conversions from and to small floats by the GPU's instructions, with the same bits as those of
/// `troupe/tensor/small_floats.hpp`. The instructions round alike, but they have only one NaN and,
/// for 8 bits, no overflow.
namespace troupe::cuda {

[[nodiscard]] __device__ __forceinline__ float widened(f16 value) {
#ifdef __CUDA_ARCH__
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
  const std::uint32_t sign = (value.bits & 0x8000u) << 16;
  return (value.bits & 0x7fffu) > 0x7c00u ? std::bit_cast<float>(sign | 0x7fc00000u) : wide;
#else
  return static_cast<float>(value);
#endif
}
[[nodiscard]] __device__ __forceinline__ float widened(bf16 value) {
  return static_cast<float>(value);
}
[[nodiscard]] __device__ __forceinline__ float widened(e5m2 value) {
  // The upper half of an f16.
  f16 half;
  half.bits = static_cast<std::uint16_t>(value.bits << 8);
  return widened(half);
}
[[nodiscard]] __device__ __forceinline__ float widened(e4m3 value) {
  const std::uint32_t sign = (value.bits & 0x80u) << 24;
  const std::uint32_t magnitude = value.bits & 0x7fu;
  // Keep exponent and mantissa, then correct the bias by a multiplication; this is right for
  // subnormals, too.
  const float scaled = std::bit_cast<float>(sign | magnitude << 20) * 0x1p120f;
  return magnitude == 0x7fu ? std::bit_cast<float>(sign | 0x7fc00000u) : scaled;
}

/// Converts `value` to a small float, rounded to nearest even.
template <class To>
[[nodiscard]] __device__ __forceinline__ To rounded(float value) {
#if __CUDA_ARCH__ >= 900
  To made;
  const std::uint32_t sign = std::bit_cast<std::uint32_t>(value) >> 31;
  const float magnitude = fabsf(value);
  const bool nan = value != value;
  std::uint16_t bits;
  if constexpr (std::same_as<To, f16>) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    made.bits = nan ? static_cast<std::uint16_t>(sign << 15 | 0x7e00u) : bits;
  } else if constexpr (std::same_as<To, bf16>) {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    made.bits = nan ? static_cast<std::uint16_t>(sign << 15 | 0x7fc0u) : bits;
  } else if constexpr (std::same_as<To, e4m3>) {
    // 464 is half-way between the largest number and the next one, which does not exist: it rounds
    // to even, down.
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(0.0F), "f"(value));
    const bool beyond = !(magnitude <= 464.0F);
    made.bits = static_cast<std::uint8_t>(beyond ? (sign << 7 | 0x7fu) : (bits & 0xffu));
  } else {
    static_assert(std::same_as<To, e5m2>);
    // 61440 is half-way between the largest number and the next one, which does not exist: it
    // rounds to even, up.
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(0.0F), "f"(value));
    const bool beyond = !(magnitude < 61440.0F);
    made.bits =
        static_cast<std::uint8_t>(beyond ? (sign << 7 | (nan ? 0x7eu : 0x7cu)) : (bits & 0xffu));
  }
  return made;
#else
  return To(value);
#endif
}

/// Converts an element to its carrier.
template <class From>
[[nodiscard]] __device__ __forceinline__ elementwise::carrier_of<From> carried(From value) {
  if constexpr (elementwise::is_small_float<From>) {
    return widened(value);
  } else {
    return static_cast<elementwise::carrier_of<From>>(value);
  }
}

/// Converts a carrier to an element: `elementwise::narrowed`, with the instructions above.
template <class To, class Carrier>
[[nodiscard]] __device__ __forceinline__ To element_of_carrier(Carrier value) {
  if constexpr (elementwise::is_small_float<To>) {
    if constexpr (elementwise::is_complex_number<Carrier>) {
      return rounded<To>(elementwise::odd_float(value.real()));
    } else {
      return rounded<To>(elementwise::odd_float(value));
    }
  } else {
    return elementwise::narrowed<To>(value);
  }
}

}  // namespace troupe::cuda
