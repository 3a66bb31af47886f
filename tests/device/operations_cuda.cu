#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/launch.cuh"
#include "operations.hpp"
#include "operations_cuda.hpp"

#include <troupe/fault/inject.hpp>

namespace troupe::test {
namespace {

constexpr unsigned threads = 256;

__device__ std::uint64_t now_ns() {
  std::uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

// Bounded, so that a broken test fails instead of hanging the GPU.
__global__ void hold_until(const std::uint32_t* flag, std::uint32_t* begun, std::int64_t at_most_ns,
                           float* output, std::int64_t count, float value, bool add) {
  if (threadIdx.x == 0) {
    if (begun != nullptr) {
      *static_cast<volatile std::uint32_t*>(begun) = 1;
      __threadfence_system();
    }
    const std::uint64_t begin = now_ns();
    while (*static_cast<const volatile std::uint32_t*>(flag) == 0 &&
           now_ns() - begin < static_cast<std::uint64_t>(at_most_ns))
      __nanosleep(500);
    __threadfence_system();
  }
  __syncthreads();
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x)
    output[i] = value + (add ? output[i] : 0.0F);
}

__global__ void sum_of(const float* input, std::int64_t count, double* total) {
  __shared__ double parts[threads];
  double part = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x)
    part += static_cast<double>(input[i]);
  parts[threadIdx.x] = part;
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *total = parts[0];
}

result<void> enqueue_hold(void*, const void* request, lane_context& where, std::byte*) {
  const auto& r = *static_cast<const hold*>(request);
  const bool writes = !r.output.null();
  return cuda::launch(hold_until, 1, threads, static_cast<cuda::lane&>(where).stream(),
                      r.flag.data<std::uint32_t>(),
                      r.begun.null() ? nullptr : r.begun.data<std::uint32_t>(),
                      fault::longest_spin_ns, writes ? r.output.data<float>() : nullptr,
                      writes ? r.output.count() : 0, static_cast<float>(r.value), r.add);
}

result<void> enqueue_sum(void*, const void* request, lane_context& where, std::byte* reply) {
  const auto& r = *static_cast<const sum*>(request);
  return cuda::launch(sum_of, 1, threads, static_cast<cuda::lane&>(where).stream(),
                      r.input.data<float>(), r.input.count(), reinterpret_cast<double*>(reply));
}

}  // namespace

void add_cuda_operations(operation_table& table) {
  (void)cuda::load(hold_until);
  (void)cuda::load(sum_of);
  table.insert({.type = &request_type_of<hold>(), .run = &enqueue_hold});
  table.insert({.type = &request_type_of<sum>(), .run = &enqueue_sum});
}

}  // namespace troupe::test
