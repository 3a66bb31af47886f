#include "raw.hpp"

#include "empty_kernel.hpp"
#include "raw_check.hpp"

#include <cublas_v2.h>

#include <limits>

namespace troupe::bench::raw {
namespace {

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": " + cublasGetStatusName(status));
}

cublasHandle_t handle_of(void* handle) noexcept { return static_cast<cublasHandle_t>(handle); }

}  // namespace

std::string open_device() {
  check(cudaSetDeviceFlags(cudaDeviceScheduleSpin), "cudaSetDeviceFlags");
  check(cudaSetDevice(0), "cudaSetDevice");
  check(cudaFree(nullptr), "cudaFree");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  int version = 0;
  check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
  // Freed memory stays with the program: the allocator at its best.
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, 0), "cudaDeviceGetDefaultMemPool");
  auto keep = std::numeric_limits<std::uint64_t>::max();
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep),
        "cudaMemPoolSetAttribute");
  return std::string(properties.name) + ", driver for CUDA " + std::to_string(version / 1000) +
         "." + std::to_string(version % 1000 / 10);
}

void close_device() { check(cudaDeviceReset(), "cudaDeviceReset"); }

stream::stream() {
  cudaStream_t made = nullptr;
  check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  stream_ = made;
}
stream::~stream() { (void)cudaStreamDestroy(of(stream_)); }

void stream::launch_empty() { check(launch_empty_kernel(of(stream_)), "cudaLaunchKernel"); }
void stream::synchronize() { check(cudaStreamSynchronize(of(stream_)), "cudaStreamSynchronize"); }

void stream::copy(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, of(stream_)), "cudaMemcpyAsync");
}

void stream::allocate_and_free(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMallocAsync(&memory, bytes, of(stream_)), "cudaMallocAsync");
  check(cudaFreeAsync(memory, of(stream_)), "cudaFreeAsync");
}

memory::memory(place where, std::size_t bytes) : where_(where), bytes_(bytes) {
  if (where == place::device) {
    check(cudaMalloc(&address_, bytes), "cudaMalloc");
  } else {
    check(cudaMallocHost(&address_, bytes), "cudaMallocHost");
  }
}
memory::~memory() {
  if (where_ == place::device) {
    (void)cudaFree(address_);
  } else {
    (void)cudaFreeHost(address_);
  }
}

cublas::cublas(stream& on) {
  cublasHandle_t made = nullptr;
  check(cublasCreate(&made), "cublasCreate");
  handle_ = made;
  check(cublasSetStream(made, of(on.native())), "cublasSetStream");
}
cublas::~cublas() { (void)cublasDestroy(handle_of(handle_)); }

// cuBLAS counts by columns, so that row-major c = a · b is cᵀ = bᵀ · aᵀ there.
void cublas::multiply(int n, const void* a, const void* b, void* c) {
  const float one = 1;
  const float zero = 0;
  check(cublasSgemm(handle_of(handle_), CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one,
                    static_cast<const float*>(b), n, static_cast<const float*>(a), n, &zero,
                    static_cast<float*>(c), n),
        "cublasSgemm");
}

void cublas::multiply(half type, int n, const void* a, const void* b, void* c) {
  const float one = 1;
  const float zero = 0;
  const cudaDataType_t kind = type == half::f16 ? CUDA_R_16F : CUDA_R_16BF;
  check(cublasGemmEx(handle_of(handle_), CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b, kind, n, a,
                     kind, n, &zero, c, kind, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
}

graph::graph(stream& on, const std::function<void()>& given) {
  check(cudaStreamBeginCapture(of(on.native()), cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture");
  given();
  cudaGraph_t captured = nullptr;
  check(cudaStreamEndCapture(of(on.native()), &captured), "cudaStreamEndCapture");
  cudaGraphExec_t executable = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&executable, captured, 0);
  (void)cudaGraphDestroy(captured);
  check(made, "cudaGraphInstantiate");
  executable_ = executable;
}
graph::~graph() { (void)cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(executable_)); }

void graph::launch(stream& on) {
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(executable_), of(on.native())),
        "cudaGraphLaunch");
}

}  // namespace troupe::bench::raw
