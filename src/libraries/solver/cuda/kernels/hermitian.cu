#include "libraries/blas/cuda/call.hpp"
#include "libraries/blas/cuda/kernels/launch.cuh"
#include "libraries/solver/cuda/kernels/hermitian_solve.cuh"

namespace troupe::cuda {
namespace {

static_assert(matrix_threads == threads_per_block);

// Blocks take one matrix each, in turn.
template <class D>
__global__ void __launch_bounds__(threads_per_block)
    factor_blocks(const __grid_constant__ matrices a, bool upper, std::int64_t* pivots,
                  std::int32_t* info) {
  __shared__ block_memory<D> shared;
  const block_of_threads block;
  for (std::int64_t matrix = blockIdx.x; matrix < a.count; matrix += gridDim.x) {
    const std::int32_t found =
        factor_hermitian(block, shared, hermitian_matrix<D>(a, upper, pivots, matrix));
    block.each([&](int t) {
      if (t == 0) info[matrix] = found;
    });
  }
}

template <class D>
__global__ void __launch_bounds__(threads_per_block)
    solve_blocks(const __grid_constant__ matrices factor, indefinite_form form,
                 std::int64_t* pivots, const __grid_constant__ matrices x) {
  __shared__ block_memory<D> shared;
  const block_of_threads block;
  for (std::int64_t matrix = blockIdx.x; matrix < factor.count; matrix += gridDim.x) {
    const hermitian_matrix<D> a(factor, form.upper, pivots, matrix, form.symmetric);
    const right_sides<D> sides(x, matrix);
    solve_forward(block, a, sides);
    solve_backward(block, shared, a, sides);
  }
}

}  // namespace

result<void> factor_hermitian(const matrices& a, bool upper, std::int64_t* pivots,
                              std::int32_t* info, lane& where) {
  return for_complex_type(a.type, [&]<class T>(T) {
    return launch(where, "factor_blocks", factor_blocks<device_t<T>>,
                  blocks_for(where, a.count * threads_per_block), a, upper, pivots, info);
  });
}

result<void> solve_indefinite(const matrices& factor, indefinite_form form, std::int64_t* pivots,
                              const matrices& x, lane& where) {
  return for_classic_type(factor.type, [&]<class T>(T) {
    return launch(where, "solve_blocks", solve_blocks<device_t<T>>,
                  blocks_for(where, factor.count * threads_per_block), factor, form, pivots, x);
  });
}

}  // namespace troupe::cuda
