#pragma once

#include <troupe/tensor/dtype.hpp>
#include <troupe/tensor/scalar.hpp>

#include <complex>

namespace troupe::blas {

/// True if a factor is zero in the arithmetic of a result of `type`: if that is f32 (for f32, c64,
/// f16 and bf16), a number too small for f32 counts as zero, because the vendor's routines get it
/// in that type. Operands with factor zero are not read, so backends have to agree.
[[nodiscard]] inline bool vanishes(const scalar& factor, dtype type) noexcept {
  if (type == dtype::f64 || type == dtype::c128) return factor.is_zero();
  return factor.as<std::complex<float>>() == std::complex<float>();
}

}  // namespace troupe::blas
