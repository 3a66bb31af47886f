#pragma once

#include "libraries/blas/cuda/kernels/arithmetic.cuh"
#include "libraries/blas/cuda/kernels/launch.cuh"
#include "libraries/solver/cuda/matrices.hpp"

#include <cstdint>

/// Shared by the solver's kernels.
namespace troupe::cuda {

/// Matrices whose elements a kernel visits by one number each.
template <class D>
struct matrix_list {
  D* first = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t ld = 0;
  std::int64_t step = 0;
  std::int64_t count = 0;

  struct index {
    std::int64_t matrix, row, column;
  };
  [[nodiscard]] __device__ index index_of(std::int64_t flat) const {
    const std::int64_t rest = flat / rows;
    return {rest / columns, flat - rest * rows, rest % columns};
  }
  [[nodiscard]] __device__ D& at(index i) const {
    return first[i.matrix * step + i.column * ld + i.row];
  }
  [[nodiscard]] __device__ std::int64_t elements() const { return rows * columns * count; }
};

template <class T>
[[nodiscard]] matrix_list<device_t<T>> list_of(const matrices& m) noexcept {
  return {on_device(m.at<T>(0)), m.rows, m.columns, m.ld, m.step, m.count};
}

__device__ inline bool is_zero(float v) { return v == 0; }
__device__ inline bool is_zero(double v) { return v == 0; }
template <class R>
__device__ inline bool is_zero(complex_value<R> v) {
  return v.re == 0 && v.im == 0;
}
__device__ inline bool is_finite(float v) { return isfinite(v); }
__device__ inline bool is_finite(double v) { return isfinite(v); }
template <class R>
__device__ inline bool is_finite(complex_value<R> v) {
  return isfinite(v.re) && isfinite(v.im);
}
__device__ inline void make_real(float&) {}
__device__ inline void make_real(double&) {}
template <class R>
__device__ inline void make_real(complex_value<R>& v) {
  v.im = 0;
}
__device__ inline void make_one(float& v) { v = 1; }
__device__ inline void make_one(double& v) { v = 1; }
template <class R>
__device__ inline void make_one(complex_value<R>& v) {
  v = {1, 0};
}

/// The lowest number of a block, in thread 0. All `threads_per_block` threads must call it.
__device__ inline unsigned long long lowest_of_block(unsigned long long mine) {
  __shared__ unsigned long long lowest;
  if (threadIdx.x == 0) lowest = ~0ull;
  __syncthreads();
  if (mine != ~0ull) atomicMin(&lowest, mine);
  __syncthreads();
  const unsigned long long found = lowest;
  __syncthreads();
  return found;
}

}  // namespace troupe::cuda
