#include "mapping_kernels.hpp"

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace troupe::gpu_test {
namespace {

__global__ void add_to_each(float* values, std::int64_t n, float what) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) values[i] += what;
}

__global__ void count_unlike(const float* values, std::int64_t n, float wanted, int* unlike) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n && values[i] != wanted) atomicAdd(unlike, 1);
}

void cuda(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  std::printf("FAILED: %s: %s\n", call, cudaGetErrorString(code));
  std::exit(1);
}

unsigned blocks(std::int64_t n) { return static_cast<unsigned>((n + 255) / 256); }

}  // namespace

void make_context(int ordinal) { cuda(cudaSetDevice(ordinal), "cudaSetDevice"); }

void add(float* values, std::int64_t n, float what) {
  add_to_each<<<blocks(n), 256>>>(values, n, what);
  cuda(cudaGetLastError(), "launch");
  cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

bool all_are(const float* values, std::int64_t n, float wanted) {
  int* unlike = nullptr;
  cuda(cudaMallocManaged(&unlike, sizeof(int)), "cudaMallocManaged");
  *unlike = 0;
  count_unlike<<<blocks(n), 256>>>(values, n, wanted, unlike);
  cuda(cudaGetLastError(), "launch");
  cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const bool right = *unlike == 0;
  cuda(cudaFree(unlike), "cudaFree");
  return right;
}

}  // namespace troupe::gpu_test
