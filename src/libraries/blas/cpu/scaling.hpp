#pragma once

#include "libraries/blas/openblas/openblas.hpp"
#include "libraries/blas/requests/factors.hpp"

#include <cmath>

/// Multiplication by the factors that OpenBLAS gets wrong. Some of its kernels multiply by a zero,
/// so that NaNs stay, some write zeros for a NaN, and some quick returns skip beta altogether; a
/// request promises that beta = 0 never reads and that y = beta · y otherwise. So a factor
/// that is zero, infinite or no number is multiplied by here, before the call.
namespace troupe::cpu {

template <class T>
[[nodiscard]] bool is_ordinary(T factor) noexcept {
  if constexpr (complex_v<T>) {
    return factor != T{} && std::isfinite(factor.real()) && std::isfinite(factor.imag());
  } else {
    return factor != T{} && std::isfinite(factor);
  }
}

/// A product as BLAS forms it: std::complex's own repairs infinities.
template <class T>
[[nodiscard]] T product_of(T a, T b) noexcept {
  if constexpr (complex_v<T>) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else {
    return a * b;
  }
}
template <class R>
[[nodiscard]] std::complex<R> product_of(R a, std::complex<R> b) noexcept {
  return {a * b.real(), a * b.imag()};
}

/// factor · old; a factor of zero does not read.
template <class Factor, class T>
[[nodiscard]] T scaled(Factor factor, const T& old) noexcept {
  return factor == Factor{} ? T{} : product_of(factor, old);
}

/// y = factor · y.
template <class T>
void scale(const any_tensor& y, T factor) noexcept {
  T* const first = y.data<T>();
  const std::int64_t step = blas::increment(y);
  for (std::int64_t i = 0; i < y.extent(0); ++i)
    first[i * step] = scaled(factor, first[i * step]);
}

/// The same for one triangle of a matrix. A real factor of a complex type means a Hermitian matrix,
/// whose diagonal becomes real.
template <class T, class Factor>
void scale(const any_tensor& c, blas::uplo uplo, Factor factor) noexcept {
  const bool upper = uplo == blas::uplo::upper;
  for (std::int64_t i = 0; i < c.extent(0); ++i) {
    for (std::int64_t j = upper ? i : 0; j < (upper ? c.extent(1) : i + 1); ++j) {
      T& place = c.data<T>()[i * c.stride(0) + j * c.stride(1)];
      place = scaled(factor, place);
      if constexpr (complex_v<T> && !complex_v<Factor>) {
        if (i == j) place = place.real();
      }
    }
  }
}

/// The beta for an executor: beta itself, or 1 if this has already multiplied by it.
template <class T>
[[nodiscard]] T settle_beta(const any_tensor& y, const scalar& beta) noexcept {
  const T factor = beta.as<T>();
  if (is_ordinary(factor)) return factor;
  scale(y, factor);
  return T{1};
}
template <class Factor, class T>
[[nodiscard]] Factor settle_beta(const any_tensor& c, blas::uplo uplo,
                                 const scalar& beta) noexcept {
  const auto factor = beta.as<Factor>();
  if (is_ordinary(factor)) return factor;
  scale<T>(c, uplo, factor);
  return Factor{1};
}

}  // namespace troupe::cpu
