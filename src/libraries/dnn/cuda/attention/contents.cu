#include "libraries/dnn/cuda/attention/contents.hpp"
#include "libraries/dnn/cuda/attention/tiles/block.cuh"

namespace troupe::cuda::contents {
namespace {

// One block per sequence.
__global__ void __launch_bounds__(tiles::threads)
    check_contents(const __grid_constant__ sequence_contents c) {
  __shared__ std::int32_t wrong;
  check_sequence(c, blockIdx.x, wrong, tiles::block_of_threads());
}

}  // namespace

result<void> enqueue_check(const sequence_contents& c, cudaStream_t stream) {
  return launch(check_contents, c.batch, tiles::threads, stream, c);
}

}  // namespace troupe::cuda::contents
