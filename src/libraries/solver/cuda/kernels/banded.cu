#include "libraries/blas/cuda/call.hpp"
#include "libraries/blas/cuda/kernels/launch.cuh"
#include "libraries/solver/cuda/kernels/banded.cuh"

namespace troupe::cuda {
namespace {

static_assert(matrix_threads == threads_per_block);

/// How the systems of a kernel are solved.
enum class band_method : std::uint8_t { lu, upper_cholesky, lower_cholesky };

// Blocks take one system each, in turn.
template <class D, band_method Method>
__global__ void __launch_bounds__(threads_per_block)
    solve_bands(const __grid_constant__ matrices band, const __grid_constant__ matrices x,
                std::int64_t kl, std::int64_t ku, std::int32_t* info) {
  __shared__ block_memory<D> shared;
  const block_of_threads block;
  for (std::int64_t matrix = blockIdx.x; matrix < band.count; matrix += gridDim.x) {
    const band_system<D> s(band, x, kl, ku, matrix);
    std::int32_t found = 0;
    if constexpr (Method == band_method::lu) {
      found = solve_by_lu(block, shared, s);
    } else {
      found = solve_by_cholesky < Method == band_method::upper_cholesky > (block, shared, s);
    }
    block.each([&](int t) {
      if (t == 0) info[matrix] = found;
    });
  }
}

template <band_method Method>
result<void> enqueue(const band_systems& s, lane& where) {
  return for_classic_type(s.band.type, [&]<class T>(T) {
    return launch(where, "solve_bands", solve_bands<device_t<T>, Method>,
                  blocks_for(where, s.band.count * threads_per_block), s.band, s.x, s.kl, s.ku,
                  s.info);
  });
}

}  // namespace

result<void> solve_by_lu(const band_systems& s, lane& where) {
  return enqueue<band_method::lu>(s, where);
}
result<void> solve_by_cholesky(const band_systems& s, bool upper, lane& where) {
  return upper ? enqueue<band_method::upper_cholesky>(s, where)
               : enqueue<band_method::lower_cholesky>(s, where);
}

}  // namespace troupe::cuda
