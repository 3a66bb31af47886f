#pragma once

#include "libraries/blas/cuda/kernels/arithmetic.cuh"

#include <troupe/tensor/scalar.hpp>

#include <cstdint>
#include <type_traits>

namespace troupe::cuda {

/// How a factor weighs an element. With `one` the element is taken as it is, because a complex
/// product with 1 + 0i makes NaNs of infinities; with `zero` it is not read.
enum class weight : std::uint8_t { zero, one, any };

/// A factor of a request, in the type in which kernels compute with elements of T.
template <class T>
struct weighted_factor {
  using host = std::conditional_t<std::is_same_v<T, f16> || std::is_same_v<T, bf16>, float, T>;
  using device = device_t<host>;

  device value{};
  weight how = weight::zero;

  explicit weighted_factor(const scalar& s) {
    host given{};
    if constexpr (std::is_same_v<T, std::uint32_t>) {
      given = static_cast<std::uint32_t>(s.as<std::int32_t>());  // sums of i32 wrap
    } else {
      given = s.as<host>();
    }
    how = given == host(0) ? weight::zero : given == host(1) ? weight::one : weight::any;
    if constexpr (std::is_integral_v<host>) {
      value = given;
    } else {
      value = value_of(given);
    }
  }
};

}  // namespace troupe::cuda
