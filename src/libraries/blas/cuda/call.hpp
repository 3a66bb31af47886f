#pragma once

#include "libraries/blas/cuda/cublas.hpp"
#include "request/matrix_layout.hpp"

#include <troupe/blas/modes.hpp>
#include <troupe/tensor/dtype.hpp>

#include <complex>
#include <string_view>
#include <type_traits>

/// How executors write down a call of cuBLAS: one routine for all element types, Troupe's types in
/// its arguments.
namespace troupe::cuda {

using c64 = std::complex<float>;
using c128 = std::complex<double>;

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
[[nodiscard]] constexpr T conjugate(T v) noexcept {
  if constexpr (complex_v<T>) {
    return {v.real(), -v.imag()};
  } else {
    return v;
  }
}

/// An argument as cuBLAS takes it: its complex types have the layout of std::complex.
template <class T>
[[nodiscard]] constexpr T as_argument(T v) noexcept {
  return v;
}
[[nodiscard]] inline cuComplex* as_argument(c64* v) noexcept {
  return reinterpret_cast<cuComplex*>(v);
}
[[nodiscard]] inline const cuComplex* as_argument(const c64* v) noexcept {
  return reinterpret_cast<const cuComplex*>(v);
}
[[nodiscard]] inline cuDoubleComplex* as_argument(c128* v) noexcept {
  return reinterpret_cast<cuDoubleComplex*>(v);
}
[[nodiscard]] inline const cuDoubleComplex* as_argument(const c128* v) noexcept {
  return reinterpret_cast<const cuDoubleComplex*>(v);
}
/// Lists of addresses, as batched routines take them.
[[nodiscard]] inline cuComplex* const* as_argument(c64* const* v) noexcept {
  return reinterpret_cast<cuComplex* const*>(v);
}
[[nodiscard]] inline const cuComplex* const* as_argument(const c64* const* v) noexcept {
  return reinterpret_cast<const cuComplex* const*>(v);
}
[[nodiscard]] inline cuDoubleComplex* const* as_argument(c128* const* v) noexcept {
  return reinterpret_cast<cuDoubleComplex* const*>(v);
}
[[nodiscard]] inline const cuDoubleComplex* const* as_argument(const c128* const* v) noexcept {
  return reinterpret_cast<const cuDoubleComplex* const*>(v);
}

/// A function of cuBLAS and its name: calling it calls the function and makes an error of what it
/// answers.
template <class... Parameters>
struct routine {
  cublasStatus_t (*function)(cublasHandle_t, Parameters...);
  std::string_view name;

  template <class... Arguments>
  [[nodiscard]] result<void> operator()(cublasHandle_t handle, Arguments... arguments) const {
    return check(function(handle, as_argument(arguments)...), name, handle);
  }
};
template <class... Parameters>
routine(cublasStatus_t (*)(cublasHandle_t, Parameters...), const char*) -> routine<Parameters...>;

// `constexpr routine NAME{…}` for the 64-bit entry point of a function: axpy of letter S is
// cublasSaxpy_64. The names are put together here, before cublas_v2.h turns them into others.
#define TROUPE_CUBLAS_AS(member, letter, name) \
  static constexpr routine member{&cublas##letter##name##_64, "cublas" #letter #name "_64"}
#define TROUPE_CUBLAS(letter, name) TROUPE_CUBLAS_AS(name, letter, name)

[[nodiscard]] constexpr cublasFillMode_t as_cublas(blas::uplo u) noexcept {
  return u == blas::uplo::upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
}
[[nodiscard]] constexpr cublasDiagType_t as_cublas(blas::diag d) noexcept {
  return d == blas::diag::unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
}
[[nodiscard]] constexpr cublasSideMode_t as_cublas(blas::side s) noexcept {
  return s == blas::side::left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
}
[[nodiscard]] constexpr blas::uplo other(blas::uplo u) noexcept {
  return u == blas::uplo::upper ? blas::uplo::lower : blas::uplo::upper;
}
[[nodiscard]] constexpr blas::side other(blas::side s) noexcept {
  return s == blas::side::left ? blas::side::right : blas::side::left;
}
/// The triangle in which the elements lie once a matrix in order `stored` is taken as cuBLAS takes
/// every matrix, column-major.
[[nodiscard]] constexpr cublasFillMode_t triangle(blas::order stored, blas::uplo u) noexcept {
  return as_cublas(stored == blas::order::column_major ? u : other(u));
}

/// Calls `f` with a value of the C++ type of `type`, one of f32 f64 c64 c128. `f` answers a
/// result<void>.
template <class F>
[[nodiscard]] result<void> for_classic_type(dtype type, F f) {
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
      return {};  // every other type is refused
  }
}

/// The same for the real types and for the complex types.
template <class F>
[[nodiscard]] result<void> for_real_type(dtype type, F f) {
  return type == dtype::f32 ? f(float{}) : f(double{});
}
template <class F>
[[nodiscard]] result<void> for_complex_type(dtype type, F f) {
  return type == dtype::c64 ? f(c64{}) : f(c128{});
}

}  // namespace troupe::cuda
