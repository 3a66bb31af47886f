#include "backend/cuda/context/stamp.hpp"

namespace troupe::cuda {
namespace {

__global__ void store_time(volatile std::uint64_t* where) {
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  *where = now;
}

}  // namespace

result<void> enqueue_stamp(std::uint64_t* where, cudaStream_t stream) {
  store_time<<<1, 1, 0, stream>>>(where);
  return check(cudaGetLastError(), "store_time");
}

}  // namespace troupe::cuda
