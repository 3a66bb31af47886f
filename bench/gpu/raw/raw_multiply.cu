#include "raw_check.hpp"
#include "raw_fft.hpp"

#include <cuda_runtime.h>

namespace troupe::bench::raw {
namespace {

__global__ void multiply_each(float4* y, const float4* by, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float4 a = y[i];
  const float4 b = by[i];
  y[i] = {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x, a.z * b.z - a.w * b.w,
          a.z * b.w + a.w * b.z};
}

}  // namespace

void multiply(stream& on, void* y, const void* by, std::int64_t count) {
  constexpr std::int64_t threads = 256;
  const std::int64_t pairs = count / 2;
  multiply_each<<<static_cast<unsigned>((pairs + threads - 1) / threads), threads, 0,
                  of(on.native())>>>(static_cast<float4*>(y), static_cast<const float4*>(by),
                                     pairs);
  check(cudaGetLastError(), "multiply_each");
}

}  // namespace troupe::bench::raw
