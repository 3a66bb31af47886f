#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/base/result.hpp>
#include <troupe/solver/modes.hpp>

namespace troupe::cuda {

/// A matrix in compressed rows, in memory of the host.
template <class T>
struct sparse_matrix {
  int rows = 0;
  int columns = 0;
  int elements = 0;
  const T* values = nullptr;
  const int* offsets = nullptr;
  const int* places = nullptr;
};

// Solvers of cuSOLVER for one right side, whose last vendor release is this one: their successor,
// cuDSS, is a library of its own. T is float or double. They wait for the lane.

/// By Cholesky, on the device. \returns the row of the first pivot below `tolerance`, or -1
template <class T>
[[nodiscard]] result<int> sparse_cholesky(const sparse_matrix<T>& a, const T* b, T* x, T tolerance,
                                          solver::ordering ordering, lane& where);
/// By LU with partial pivoting, on the host: cuSOLVER has none on the device. \returns the same
template <class T>
[[nodiscard]] result<int> sparse_lu(const sparse_matrix<T>& a, const T* b, T* x, T tolerance,
                                    solver::ordering ordering, lane& where);
/// By QR: of a square matrix on the device, and on the host where that has no full rank or is not
/// square. \returns the rank
template <class T>
[[nodiscard]] result<int> sparse_least_squares(const sparse_matrix<T>& a, const T* b, T* x,
                                               T tolerance, lane& where);

}  // namespace troupe::cuda
