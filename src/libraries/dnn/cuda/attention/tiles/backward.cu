#include "base/try.hpp"
#include "libraries/dnn/cuda/attention/tiles/backward.hpp"
#include "libraries/dnn/cuda/attention/tiles/block.cuh"
#include "libraries/dnn/cuda/attention/tiles/enqueue.hpp"

namespace troupe::cuda::tiles {
namespace {

template <class Real>
__global__ void store_deltas(const __grid_constant__ problem p) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
       i < p.batch * p.heads * p.s_q; i += step)
    store_delta<Real>(p, i);
}

template <class Real, int Columns>
__global__ void __launch_bounds__(threads)
    differentiate(const __grid_constant__ problem p, const __grid_constant__ backward_work work) {
  for (std::int64_t item = blockIdx.x; item < work.items(); item += gridDim.x)
    backward_tile<Columns>(p, work, item, shared_memory<Real>(), block_of_threads());
}

template <class Real, int Columns>
result<void> enqueue(const problem& p, cudaStream_t stream) {
  const std::int64_t blocks =
      std::min<std::int64_t>((p.batch * p.heads * p.s_q + threads - 1) / threads, 4096);
  if (blocks > 0) TRY(launch(store_deltas<Real>, blocks, threads, stream, p));
  const backward_work work = backward_work::of_columns<Columns>(p);
  if (work.items() == 0) return {};
  return launch_over_items<Real>(differentiate<Real, Columns>, work.items(), stream, p, work);
}

template <class Real>
result<void> enqueue_in(const problem& p, cudaStream_t stream) {
  return std::max(p.d, p.d_v) > 64 ? enqueue<Real, 128>(p, stream) : enqueue<Real, 64>(p, stream);
}

}  // namespace

result<void> enqueue_backward(const problem& p, dtype type, cudaStream_t stream) {
  return type == dtype::f64 ? enqueue_in<double>(p, stream) : enqueue_in<float>(p, stream);
}

}  // namespace troupe::cuda::tiles
