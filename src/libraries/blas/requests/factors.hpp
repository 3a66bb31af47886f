#pragma once

#include <troupe/tensor/dtype.hpp>
#include <troupe/tensor/scalar.hpp>

#include <complex>

namespace troupe::blas {

/// True when a factor is zero as operations with a result of `type` take it: a number too small
/// for f32 counts as none where they compute in f32 (f32, c64, f16 and bf16), as the vendor's
/// routines, which are given it in that type, see it. What has no weight is not read, so backends
/// have to agree.
[[nodiscard]] inline bool vanishes(const scalar& factor, dtype type) noexcept {
  if (type == dtype::f64 || type == dtype::c128) return factor.is_zero();
  return factor.as<std::complex<float>>() == std::complex<float>();
}

}  // namespace troupe::blas
