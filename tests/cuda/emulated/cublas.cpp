// As much of cuBLAS as matrix products call: a handle, and a product by definition.

#include "cuda/emulated/cublas.hpp"

#include "cuda/emulated/matmul.hpp"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstdlib>

namespace {

using troupe::emulated_cublaslt::description;
using troupe::emulated_cublaslt::layout;
using troupe::emulated_cublaslt::load;
using troupe::emulated_cublaslt::matmul_call;

cudaDataType factor_type(cudaDataType in) {
  return in == CUDA_R_16F || in == CUDA_R_16BF ? CUDA_R_32F : in == CUDA_R_8I ? CUDA_R_32I : in;
}

}  // namespace

namespace troupe::emulated_cublas {
history& seen() noexcept {
  static history all;
  return all;
}
}  // namespace troupe::emulated_cublas

extern "C" {

cudaError_t cudaMalloc(void** made, size_t bytes) {
  *made = std::aligned_alloc(256, bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* held) {
  std::free(held);
  return cudaSuccess;
}

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = reinterpret_cast<cublasHandle_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasGetStream(cublasHandle_t, cudaStream_t* stream) {
  *stream = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, size_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetPointerMode(cublasHandle_t, cublasPointerMode_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t, cublasAtomicsMode_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }
const char* cublasGetStatusName(cublasStatus_t) { return "emulated"; }
const char* cublasGetStatusString(cublasStatus_t) { return "emulated"; }

cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t, cublasOperation_t op_a, cublasOperation_t op_b, int64_t m, int64_t n, int64_t k,
    const void* alpha, const void* a, cudaDataType in_a, int64_t lda, long long stride_a,
    const void* b, cudaDataType in_b, int64_t ldb, long long stride_b, const void* beta, void* c,
    cudaDataType out, int64_t ldc, long long stride_c, int64_t batch, cublasComputeType_t compute,
    cublasGemmAlgo_t) {
  const description what{
      compute,
      factor_type(in_a),
      {{CUBLASLT_MATMUL_DESC_TRANSA, op_a}, {CUBLASLT_MATMUL_DESC_TRANSB, op_b}}};
  const bool turned_a = op_a != CUBLAS_OP_N;
  const bool turned_b = op_b != CUBLAS_OP_N;
  const layout of_a{in_a, turned_a ? k : m, turned_a ? m : k, lda, batch, stride_a};
  const layout of_b{in_b, turned_b ? n : k, turned_b ? k : n, ldb, batch, stride_b};
  const layout of_c{out, m, n, ldc, batch, stride_c};
  const matmul_call call{what, of_a, of_b, of_c, of_c};
  call.run(load(what.factors, alpha, 0), a, b, load(what.factors, beta, 0), c, c);
  ++troupe::emulated_cublas::seen().products;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t op_a,
                               cublasOperation_t op_b, int64_t m, int64_t n, int64_t k,
                               const void* alpha, const void* a, cudaDataType in_a, int64_t lda,
                               const void* b, cudaDataType in_b, int64_t ldb, const void* beta,
                               void* c, cudaDataType out, int64_t ldc, cublasComputeType_t compute,
                               cublasGemmAlgo_t kernel) {
  return cublasGemmStridedBatchedEx_64(handle, op_a, op_b, m, n, k, alpha, a, in_a, lda, 0, b, in_b,
                                       ldb, 0, beta, c, out, ldc, 0, 1, compute, kernel);
}
cublasStatus_t cublasGemmBatchedEx_64(cublasHandle_t handle, cublasOperation_t op_a,
                                      cublasOperation_t op_b, int64_t m, int64_t n, int64_t k,
                                      const void* alpha, const void* const a[], cudaDataType in_a,
                                      int64_t lda, const void* const b[], cudaDataType in_b,
                                      int64_t ldb, const void* beta, void* const c[],
                                      cudaDataType out, int64_t ldc, int64_t count,
                                      cublasComputeType_t compute, cublasGemmAlgo_t kernel) {
  for (int64_t i = 0; i < count; ++i)
    (void)cublasGemmEx_64(handle, op_a, op_b, m, n, k, alpha, a[i], in_a, lda, b[i], in_b, ldb,
                          beta, c[i], out, ldc, compute, kernel);
  ++troupe::emulated_cublas::seen().lists;
  return CUBLAS_STATUS_SUCCESS;
}
// Factors of f32.
cublasStatus_t cublasGemmGroupedBatchedEx_64(
    cublasHandle_t handle, const cublasOperation_t op_a[], const cublasOperation_t op_b[],
    const int64_t m[], const int64_t n[], const int64_t k[], const void* alpha,
    const void* const a[], cudaDataType_t in_a, const int64_t lda[], const void* const b[],
    cudaDataType_t in_b, const int64_t ldb[], const void* beta, void* const c[], cudaDataType_t out,
    const int64_t ldc[], int64_t groups, const int64_t sizes[], cublasComputeType_t compute) {
  int64_t at = 0;
  for (int64_t g = 0; g < groups; ++g) {
    for (const int64_t end = at + sizes[g]; at < end; ++at)
      (void)cublasGemmEx_64(handle, op_a[g], op_b[g], m[g], n[g], k[g],
                            static_cast<const float*>(alpha) + g, a[at], in_a, lda[g], b[at], in_b,
                            ldb[g], static_cast<const float*>(beta) + g, c[at], out, ldc[g],
                            compute, CUBLAS_GEMM_DEFAULT);
  }
  ++troupe::emulated_cublas::seen().lists;
  return CUBLAS_STATUS_SUCCESS;
}
}
