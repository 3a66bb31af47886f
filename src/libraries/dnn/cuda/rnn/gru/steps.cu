#include "backend/cuda/context/launch.cuh"
#include "libraries/dnn/cuda/rnn/gru/steps.hpp"

#include <algorithm>

namespace troupe::cuda::rnn::gru {
namespace {

constexpr unsigned threads = 256;

template <class Run>
__device__ __forceinline__ void each(std::int64_t count, Run run) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    run(i);
}

template <class Real>
__global__ void run_part(part what, const __grid_constant__ step s) {
  each(s.batch * s.hidden, [&](std::int64_t i) {
    switch (what) {
      case part::reset_state:
        return reset_state<Real>(s, i);
      case part::update_state:
        return update_state<Real>(s, i);
      case part::update_gradients:
        return update_gradients<Real>(s, i);
      case part::reset_gradients:
        return reset_gradients<Real>(s, i);
    }
  });
}

template <class Real>
__global__ void copy_numbers(const __grid_constant__ copied_rows c) {
  each(c.count, [&](std::int64_t i) { copy_number<Real>(c, i); });
}

std::int64_t blocks_for(std::int64_t count) {
  return std::clamp<std::int64_t>((count + threads - 1) / threads, 1, 4096);
}

}  // namespace

result<void> enqueue(part what, const step& s, cudaStream_t stream) {
  const std::int64_t blocks = blocks_for(s.batch * s.hidden);
  return s.type == dtype::f64 ? launch(run_part<double>, blocks, threads, stream, what, s)
                              : launch(run_part<float>, blocks, threads, stream, what, s);
}

result<void> enqueue(const copied_rows& c, cudaStream_t stream) {
  const std::int64_t blocks = blocks_for(c.count);
  return c.to_type == dtype::f64 ? launch(copy_numbers<double>, blocks, threads, stream, c)
                                 : launch(copy_numbers<float>, blocks, threads, stream, c);
}

}  // namespace troupe::cuda::rnn::gru
