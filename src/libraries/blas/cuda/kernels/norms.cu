#include "backend/cuda/context/call_frame.hpp"
#include "libraries/blas/cuda/kernels/arithmetic.cuh"
#include "libraries/blas/cuda/kernels/block_sum.cuh"
#include "libraries/blas/cuda/kernels/launch.cuh"
#include "libraries/blas/cuda/kernels/reductions.hpp"
#include "libraries/blas/cuda/kernels/scalar_bytes.cuh"
#include "libraries/blas/shared/square_sums.hpp"

namespace troupe::cuda {
namespace {

using norms::square_sums;

__device__ void add_square(square_sums& sums, double v) { sums.add_square_of(v); }
__device__ void add_square(square_sums& sums, complex_value<double> v) {
  sums.add_square_of(v.re);
  sums.add_square_of(v.im);
}

/// The sums of the block, in its first thread.
__device__ square_sums sums_of_block(square_sums sums) {
  return {block_sum(sums.large), block_sum(sums.medium), block_sum(sums.small)};
}

template <class D>
__global__ void sum_squares(const D* x, std::int64_t step, std::int64_t n, square_sums* of_blocks) {
  square_sums sums;
  for (std::int64_t i = first_step(); i < n; i += step_width())
    add_square(sums, x[i * step]);
  sums = sums_of_block(sums);
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = sums;
}

__global__ void root_of_sums(const square_sums* of_blocks, unsigned count, double* result,
                             scalar_bytes* reply) {
  square_sums sums;
  for (unsigned i = threadIdx.x; i < count; i += threads_per_block)
    sums += of_blocks[i];
  sums = sums_of_block(sums);
  if (threadIdx.x != 0) return;
  if (result != nullptr) {
    *result = sums.root();
  } else {
    store(reply, sums.root());
  }
}

}  // namespace

template <class T>
result<void> nrm2_scaled(lane& where, strided<const T> x, double* result, scalar* reply) {
  constexpr auto most = static_cast<unsigned>(reduction_bytes / sizeof(square_sums));
  call_frame c(where);
  const auto of_blocks = c.array<square_sums>(most);
  TRY(c.begin());
  // Several elements for each thread, so that few blocks are left to sum up.
  const unsigned blocks = std::min(blocks_for(where, x.count / 8), most);
  TRY(launch(where, "sum_squares", sum_squares<device_t<T>>, blocks, on_device(x.first), x.step,
             x.count, of_blocks.get()));
  return launch(where, "root_of_sums", root_of_sums, 1, of_blocks.get(), blocks, result,
                reinterpret_cast<scalar_bytes*>(reply));
}

template result<void> nrm2_scaled(lane&, strided<const double>, double*, scalar*);
template result<void> nrm2_scaled(lane&, strided<const std::complex<double>>, double*, scalar*);

}  // namespace troupe::cuda
