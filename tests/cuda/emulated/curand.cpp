#include "cuda/emulated/curand.hpp"

#include <cuda_runtime_api.h>
#include <curand.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

struct curandGenerator_st {
  std::uint64_t seed = 0;
  std::uint64_t next = 0;
};

namespace troupe::emulated {
namespace {
int made = 0;
}  // namespace

curand_refusals& refusals() {
  static curand_refusals all;
  return all;
}
int generators() { return made; }

}  // namespace troupe::emulated

using troupe::emulated::made;
using troupe::emulated::refusals;

extern "C" {

curandStatus_t curandCreateGenerator(curandGenerator_t* to, curandRngType_t) {
  if (refusals().create) return CURAND_STATUS_ALLOCATION_FAILED;
  *to = new curandGenerator_st;
  ++made;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandDestroyGenerator(curandGenerator_t one) {
  delete one;
  --made;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetStream(curandGenerator_t, cudaStream_t) { return CURAND_STATUS_SUCCESS; }
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t, curandOrdering_t) {
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t of, unsigned long long seed) {
  if (refusals().seed) return CURAND_STATUS_ALLOCATION_FAILED;
  of->seed = seed;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t of, unsigned long long to) {
  of->next = to;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGenerate(curandGenerator_t of, unsigned* to, std::size_t count) {
  if (of == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  for (std::size_t i = 0; i < count; ++i)
    to[i] = static_cast<unsigned>(of->seed * 100'000'000 + of->next++);
  return CURAND_STATUS_SUCCESS;
}

cudaError_t cudaMalloc(void** to, std::size_t bytes) {
  *to = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* one) {
  std::free(one);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "for the test"; }
const char* cudaGetErrorName(cudaError_t) { return "for the test"; }

}  // extern "C"
