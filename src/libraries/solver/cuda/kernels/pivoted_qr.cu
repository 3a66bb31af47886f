#include "base/try.hpp"
#include "libraries/blas/cuda/call.hpp"
#include "libraries/blas/cuda/kernels/launch.cuh"
#include "libraries/solver/cuda/kernels/pivoted_qr.cuh"

namespace troupe::cuda {
namespace {

static_assert(matrix_threads == threads_per_block);

/// Work items of a kernel, one for a block at a time: `step` gets the matrix and the number behind.
template <class Step>
__device__ void for_items(std::int64_t count, std::int64_t each, const Step& step) {
  for (std::int64_t item = blockIdx.x; item < count * each; item += gridDim.x)
    step(item / each, item % each);
}

template <class D>
__global__ void __launch_bounds__(threads_per_block)
    factor_whole(const __grid_constant__ matrices a, const __grid_constant__ pivoted_arrays to) {
  __shared__ block_memory<D> shared;
  for_items(a.count, 1, [&](std::int64_t matrix, std::int64_t) {
    factor_by_block(block_of_threads(), shared, pivoted_columns<D>(a, to, matrix));
  });
}

template <class D>
__global__ void __launch_bounds__(threads_per_block)
    enter_columns(const __grid_constant__ matrices a, const __grid_constant__ pivoted_arrays to) {
  __shared__ block_memory<D> shared;
  for_items(a.count, a.columns, [&](std::int64_t matrix, std::int64_t c) {
    enter_column(block_of_threads(), shared, pivoted_columns<D>(a, to, matrix), c);
  });
}

template <class D>
__global__ void __launch_bounds__(threads_per_block)
    reflect(const __grid_constant__ matrices a, const __grid_constant__ pivoted_arrays to,
            std::int64_t j) {
  __shared__ block_memory<D> shared;
  for_items(a.count, 1, [&](std::int64_t matrix, std::int64_t) {
    reflect_longest(block_of_threads(), shared, pivoted_columns<D>(a, to, matrix), j);
  });
}

template <class D>
__global__ void __launch_bounds__(threads_per_block)
    apply(const __grid_constant__ matrices a, const __grid_constant__ pivoted_arrays to,
          std::int64_t j) {
  __shared__ block_memory<D> shared;
  for_items(a.count, a.columns - j - 1, [&](std::int64_t matrix, std::int64_t i) {
    apply_reflector(block_of_threads(), shared, pivoted_columns<D>(a, to, matrix), j, j + 1 + i);
  });
}

}  // namespace

result<void> factor_pivoted(const matrices& a, const pivoted_arrays& to, lane& where) {
  const auto blocks = [&](std::int64_t items) {
    return blocks_for(where, items * threads_per_block);
  };
  return for_classic_type(a.type, [&]<class T>(T) -> result<void> {
    using D = device_t<T>;
    if (fits_block(a))
      return launch(where, "factor_whole", factor_whole<D>, blocks(a.count), a, to);
    TRY(launch(where, "enter_columns", enter_columns<D>, blocks(a.count * a.columns), a, to));
    for (std::int64_t j = 0; j < a.rows && j < a.columns; ++j) {
      TRY(launch(where, "reflect", reflect<D>, blocks(a.count), a, to, j));
      if (j + 1 == a.columns) break;
      TRY(launch(where, "apply", apply<D>, blocks(a.count * (a.columns - j - 1)), a, to, j));
    }
    return {};
  });
}

}  // namespace troupe::cuda
