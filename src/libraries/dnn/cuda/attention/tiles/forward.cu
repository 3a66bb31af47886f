#include "libraries/dnn/cuda/attention/tiles/block.cuh"
#include "libraries/dnn/cuda/attention/tiles/enqueue.hpp"
#include "libraries/dnn/cuda/attention/tiles/forward.hpp"

namespace troupe::cuda::tiles {
namespace {

template <class Real, int Columns>
__global__ void __launch_bounds__(threads)
    attend(const __grid_constant__ problem p, const __grid_constant__ forward_work work) {
  for (std::int64_t item = blockIdx.x; item < work.items(p.batch); item += gridDim.x)
    forward_tile<Columns>(p, work, item, shared_memory<Real>(), block_of_threads());
}

template <class Real, int Columns>
result<void> enqueue(const problem& p, cudaStream_t stream) {
  if (p.batch * p.heads * p.s_q == 0) return {};
  const forward_work work = forward_work::of<Columns>(p);
  return launch_over_items<Real>(attend<Real, Columns>, work.items(p.batch), stream, p, work);
}

template <class Real>
result<void> enqueue_in(const problem& p, cudaStream_t stream) {
  return p.d_v > 64 ? enqueue<Real, 128>(p, stream) : enqueue<Real, 64>(p, stream);
}

}  // namespace

result<void> enqueue_forward(const problem& p, dtype type, cudaStream_t stream) {
  return type == dtype::f64 ? enqueue_in<double>(p, stream) : enqueue_in<float>(p, stream);
}

}  // namespace troupe::cuda::tiles
