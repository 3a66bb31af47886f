#include "raw_blaslt.hpp"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace troupe::bench::raw {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": " + cublasLtGetStatusName(status));
}

}  // namespace

struct matmul::parts {
  cublasLtHandle_t library = nullptr;
  cublasLtMatmulDesc_t what = nullptr;
  cublasLtMatrixLayout_t a = nullptr;
  cublasLtMatrixLayout_t b = nullptr;
  cublasLtMatrixLayout_t d = nullptr;
  cublasLtMatmulHeuristicResult_t kernel{};
  memory workspace{memory::place::device, workspace_bytes};
  cudaStream_t stream = nullptr;
  bool gelu_bias = false;

  parts() = default;
  parts(const parts&) = delete;
  parts& operator=(const parts&) = delete;
  ~parts() {
    for (const cublasLtMatrixLayout_t one : {a, b, d})
      (void)cublasLtMatrixLayoutDestroy(one);
    (void)cublasLtMatmulDescDestroy(what);
    (void)cublasLtDestroy(library);
  }

  template <class T>
  void set(cublasLtMatmulDescAttributes_t which, T value) const {
    check(cublasLtMatmulDescSetAttribute(what, which, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
  }
};

// cuBLASLt counts by columns: row-major d = a · b is dᵀ = bᵀ · aᵀ there, and a column-major b lies
// as bᵀ transposed.
matmul::matmul(stream& on, element type, std::int64_t m, std::int64_t n, std::int64_t k,
               bool gelu_bias)
    : parts_(std::make_unique<parts>()) {
  parts& p = *parts_;
  p.stream = static_cast<cudaStream_t>(on.native());
  p.gelu_bias = gelu_bias;
  check(cublasLtCreate(&p.library), "cublasLtCreate");
  check(cublasLtMatmulDescCreate(&p.what, CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  p.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  if (gelu_bias) {
    p.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_GELU_BIAS);
    p.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(p.workspace.address()));
  }
  const cudaDataType_t in = type == element::bf16 ? CUDA_R_16BF : CUDA_R_8F_E4M3;
  const auto matrix = [](cublasLtMatrixLayout_t& made, cudaDataType_t of, std::int64_t rows,
                         std::int64_t columns) {
    check(cublasLtMatrixLayoutCreate(&made, of, static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(columns), rows),
          "cublasLtMatrixLayoutCreate");
  };
  matrix(p.b, in, k, n);
  matrix(p.a, in, k, m);
  matrix(p.d, CUDA_R_16BF, n, m);
  cublasLtMatmulPreference_t wish = nullptr;
  check(cublasLtMatmulPreferenceCreate(&wish), "cublasLtMatmulPreferenceCreate");
  const std::uint64_t most = workspace_bytes;
  check(cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                             sizeof most),
        "cublasLtMatmulPreferenceSetAttribute");
  const std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  check(cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                             &reductions, sizeof reductions),
        "cublasLtMatmulPreferenceSetAttribute");
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(p.library, p.what, p.b, p.a, p.d,
                                                               p.d, wish, 1, &p.kernel, &found);
  (void)cublasLtMatmulPreferenceDestroy(wish);
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  if (found == 0) throw std::runtime_error("cublasLtMatmulAlgoGetHeuristic found nothing");
}
matmul::~matmul() = default;

void matmul::run(const void* a, const void* b, const void* bias, void* d) {
  const parts& p = *parts_;
  const float one = 1;
  const float zero = 0;
  if (p.gelu_bias) p.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  check(cublasLtMatmul(p.library, p.what, &one, b, p.b, a, p.a, &zero, d, p.d, d, p.d,
                       &p.kernel.algo, p.workspace.address(), p.kernel.workspaceSize, p.stream),
        "cublasLtMatmul");
}

}  // namespace troupe::bench::raw
