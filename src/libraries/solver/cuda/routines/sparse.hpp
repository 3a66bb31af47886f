#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/base/result.hpp>
#include <troupe/solver/modes.hpp>

namespace troupe::cuda {

/// A matrix in compressed rows, in host memory.
template <class T>
struct sparse_matrix {
  int rows = 0;
  int columns = 0;
  int elements = 0;
  const T* values = nullptr;
  const int* offsets = nullptr;
  const int* places = nullptr;
};

// Solvers of cuSOLVER for a single right side; T is float or double. They wait for the lane. This
// is the last vendor release with them: their successor, cuDSS, is a separate library.

/// Solves by Cholesky, on the device. \returns the row of the first pivot below `tolerance`, or −1
template <class T>
[[nodiscard]] result<int> sparse_cholesky(const sparse_matrix<T>& a, const T* b, T* x, T tolerance,
                                          solver::ordering ordering, lane& where);
/// Solves by LU with partial pivoting, on the host: cuSOLVER has no device version. \returns the
/// same
template <class T>
[[nodiscard]] result<int> sparse_lu(const sparse_matrix<T>& a, const T* b, T* x, T tolerance,
                                    solver::ordering ordering, lane& where);
/// Solves by QR, on the device if the matrix is square and has full rank, otherwise on the host.
/// \returns the rank
template <class T>
[[nodiscard]] result<int> sparse_least_squares(const sparse_matrix<T>& a, const T* b, T* x,
                                               T tolerance, lane& where);

}  // namespace troupe::cuda
