// As much of CUDA's runtime as executors call that time what they run: events on a clock that only
// emulated kernels advance, and a device of compute capability 9.0.

#include "cuda/emulated/clock.hpp"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <utility>

namespace {
double now_ms = 0;
bool swept = false;
}  // namespace

namespace troupe {
void advance_emulated_clock(double ms) noexcept { now_ms += ms; }
bool take_emulated_sweep() noexcept { return std::exchange(swept, false); }
}  // namespace troupe

extern "C" {

cudaError_t cudaEventCreate(cudaEvent_t* made) {
  *made = reinterpret_cast<cudaEvent_t>(new double(0));
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t held) {
  delete reinterpret_cast<double*>(held);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t held, cudaStream_t) {
  *reinterpret_cast<double*>(held) = now_ms;
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* passed, cudaEvent_t from, cudaEvent_t to) {
  *passed = static_cast<float>(*reinterpret_cast<double*>(to) - *reinterpret_cast<double*>(from));
  return cudaSuccess;
}
cudaError_t cudaMallocAsync(void** made, size_t bytes, cudaStream_t) {
  *made = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* held, cudaStream_t) {
  std::free(held);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t) {
  swept = true;
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 9;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "Emulated");
  properties->major = 9;
  return cudaSuccess;
}
const char* cudaGetErrorName(cudaError_t) { return "emulated"; }
const char* cudaGetErrorString(cudaError_t) { return "emulated"; }
}
