#pragma once

#include <type_traits>

/// Functions of f32 and f64 that kernels and the CPU backend share: constexpr, so that kernels can
/// run them.
namespace troupe::reals {

template <class R>
constexpr R magnitude(R x) noexcept {
  return x < 0 ? -x : x;
}

template <class R>
constexpr R square_root(R x) noexcept {
#ifdef __CUDA_ARCH__
  return ::sqrt(x);
#else
  if constexpr (std::is_same_v<R, float>) {
    return __builtin_sqrtf(x);
  } else {
    return __builtin_sqrt(x);
  }
#endif
}

}  // namespace troupe::reals
