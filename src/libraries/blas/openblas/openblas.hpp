#pragma once

#include "request/matrix_layout.hpp"

#include <troupe/base/result.hpp>
#include <troupe/blas/modes.hpp>
#include <troupe/tensor/scalar.hpp>

// cblas.h otherwise declares results as C's _Complex, which C++ has not.
#define FORCE_OPENBLAS_COMPLEX_STRUCT
#include <cblas.h>

#include <complex>
#include <cstdint>
#include <type_traits>

namespace troupe::cpu {

static_assert(sizeof(blasint) == 8, "OpenBLAS must be built with 64-bit integers");

using c64 = std::complex<float>;
using c128 = std::complex<double>;

/// A factor as CBLAS takes it: real by value, complex by address.
inline float by(const float& v) noexcept { return v; }
inline double by(const double& v) noexcept { return v; }
inline const void* by(const c64& v) noexcept { return &v; }
inline const void* by(const c128& v) noexcept { return &v; }

/// The real type of the same precision.
template <class T>
struct real_part {
  using type = T;
};
template <class T>
struct real_part<std::complex<T>> {
  using type = T;
};
template <class T>
using real_t = typename real_part<T>::type;
template <class T>
inline constexpr bool complex_v = !std::is_same_v<T, real_t<T>>;

template <class T>
[[nodiscard]] T conjugate(T v) noexcept {
  if constexpr (complex_v<T>) {
    return {v.real(), -v.imag()};
  } else {
    return v;
  }
}

[[nodiscard]] inline CBLAS_ORDER as_cblas(blas::order o) noexcept {
  return o == blas::order::column_major ? CblasColMajor : CblasRowMajor;
}
[[nodiscard]] inline CBLAS_UPLO as_cblas(blas::uplo u) noexcept {
  return u == blas::uplo::upper ? CblasUpper : CblasLower;
}
[[nodiscard]] inline CBLAS_DIAG as_cblas(blas::diag d) noexcept {
  return d == blas::diag::unit ? CblasUnit : CblasNonUnit;
}
[[nodiscard]] inline CBLAS_SIDE as_cblas(blas::side s) noexcept {
  return s == blas::side::left ? CblasLeft : CblasRight;
}
[[nodiscard]] inline CBLAS_TRANSPOSE as_cblas(blas::storage_op o) noexcept {
  constexpr CBLAS_TRANSPOSE names[] = {CblasNoTrans, CblasTrans, CblasConjTrans, CblasConjNoTrans};
  return names[static_cast<int>(o)];
}
/// The transposition that makes a matrix stored in order `stored` one of order `wanted`.
[[nodiscard]] inline CBLAS_TRANSPOSE transposition(blas::order stored, blas::order wanted,
                                                   blas::op o) noexcept {
  if (stored == wanted) return o == blas::op::none ? CblasNoTrans : CblasConjNoTrans;
  return o == blas::op::none ? CblasTrans : CblasConjTrans;
}
/// The triangle in which the elements lie once a matrix stored in order `stored` is taken as one of
/// order `wanted`.
[[nodiscard]] inline CBLAS_UPLO triangle(blas::order stored, blas::order wanted,
                                         blas::uplo u) noexcept {
  return as_cblas(
      stored == wanted ? u : (u == blas::uplo::upper ? blas::uplo::lower : blas::uplo::upper));
}

/// Calls `f` with a value of the C++ type of `type`, one of f32 f64 c64 c128.
template <class F>
void for_classic_type(dtype type, F f) {
  switch (type) {
    case dtype::f32:
      return f(float{});
    case dtype::f64:
      return f(double{});
    case dtype::c64:
      return f(c64{});
    case dtype::c128:
      return f(c128{});
    default:
      return;  // every other type is refused
  }
}

/// The same for the real types and for the complex types.
template <class F>
void for_real_type(dtype type, F f) {
  type == dtype::f32 ? f(float{}) : f(double{});
}
template <class F>
void for_complex_type(dtype type, F f) {
  type == dtype::c64 ? f(c64{}) : f(c128{});
}

}  // namespace troupe::cpu
