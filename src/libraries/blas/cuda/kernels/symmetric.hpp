#pragma once

#include "libraries/blas/cuda/kernels/vectors.hpp"

#include <troupe/blas/modes.hpp>

/// Kernels on symmetric and Hermitian matrices that cuBLAS lacks.
namespace troupe::cuda {

/// A complex symmetric matrix of order n in band storage, column-major: one triangle and k
/// diagonals beside the main one.
template <class T>
struct symmetric_band {
  const T* first;
  std::int64_t ld;
  std::int64_t k;
  std::int64_t n;
  bool upper;
};

/// One in packed storage.
template <class T>
struct symmetric_packed {
  const T* first;
  std::int64_t n;
  bool upper;
};

/// y = alpha · a · x + beta · y. Reads y unless beta is zero, and a and x unless alpha is. c64
/// c128.
template <class T>
[[nodiscard]] result<void> multiply(const lane& where, const symmetric_band<T>& a,
                                    strided<const T> x, strided<T> y, T alpha, T beta);
template <class T>
[[nodiscard]] result<void> multiply(const lane& where, const symmetric_packed<T>& a,
                                    strided<const T> x, strided<T> y, T alpha, T beta);

}  // namespace troupe::cuda
