#pragma once

#include "backend/cpu/blas/openblas.hpp"
#include "ops/blas/factors.hpp"

namespace troupe::cpu {

/// What an executor passes as beta after `clear_or_keep` has done its part.
///
/// OpenBLAS multiplies by a beta of zero in some kernels and some quick returns skip beta
/// altogether; a request promises that beta = 0 never reads and that y = beta · y otherwise. So the
/// zero is written here, and the routine adds to it.
template <class T>
[[nodiscard]] T clear_or_keep(const any_tensor& y, const scalar& beta) noexcept {
  if (!blas::vanishes(beta, y.type())) return beta.as<T>();
  T* const first = y.data<T>();
  const std::int64_t step = blas::increment(y);
  for (std::int64_t i = 0; i < y.extent(0); ++i)
    first[i * step] = T{};
  return T{1};
}

/// y = beta · y, for products without terms.
template <class T>
void scale(const any_tensor& y, const scalar& beta) noexcept {
  const T factor = clear_or_keep<T>(y, beta);
  T* const first = y.data<T>();
  const std::int64_t step = blas::increment(y);
  for (std::int64_t i = 0; i < y.extent(0); ++i)
    first[i * step] *= factor;
}

}  // namespace troupe::cpu
