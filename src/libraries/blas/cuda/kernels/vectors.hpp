#pragma once

#include "backend/cuda/context/lane.hpp"
#include "request/matrix_layout.hpp"

#include <troupe/tensor/tensor.hpp>

#include <complex>
#include <cstdint>
#include <type_traits>

/// Kernels on vectors that cuBLAS lacks, or where it differs from what a request promises.
namespace troupe::cuda {

/// `count` elements, `step` apart.
template <class T>
struct strided {
  T* first = nullptr;
  std::int64_t step = 1;
  std::int64_t count = 0;
};
template <class T>
[[nodiscard]] strided<T> elements_of(const any_tensor& x) noexcept {
  return {x.data<std::remove_const_t<T>>(), blas::increment(x), x.extent(0)};
}

/// y = factor · y, which keeps NaNs also with a factor of 0. f32 f64 c64 c128; f16 and bf16 with a
/// factor of f32.
template <class T, class Factor>
[[nodiscard]] result<void> multiply_by(const lane& where, strided<T> y, Factor factor);

/// y = 0. Types of level 2.
template <class T>
[[nodiscard]] result<void> clear(const lane& where, strided<T> y);

/// yᵢ = xₙ₋₁₋ᵢ. f32 f64 c64 c128.
template <class T>
[[nodiscard]] result<void> copy_reversed(const lane& where, strided<T> x, strided<T> y);

/// x = conj(x), and to = conj(x) with the elements of `to` side by side. c64 c128.
template <class T>
[[nodiscard]] result<void> conjugate_in_place(const lane& where, strided<T> x);
template <class T>
[[nodiscard]] result<void> copy_conjugate(const lane& where, strided<T> x, T* to);

/// The numbers of a plane rotation, or where the device finds them.
template <class Real, class T>
struct rotation {
  Real c{};
  T s{};
  const Real* c_at = nullptr;
  const T* s_at = nullptr;
};

/// x, y = c · x + s · y, c · y − conj(s) · x.
template <class Real, class T>
[[nodiscard]] result<void> rotate(const lane& where, strided<T> x, strided<T> y,
                                  const rotation<Real, T>& by);

}  // namespace troupe::cuda
