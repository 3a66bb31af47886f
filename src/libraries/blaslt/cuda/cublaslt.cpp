#include "libraries/blas/cuda/cublaslt.hpp"

#include "backend/cuda/context/failure.hpp"
#include "libraries/blaslt/cuda/status.hpp"

namespace troupe::cuda {

result<void> check(cublasStatus_t status, std::string_view call, cudaStream_t stream) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return failure_of(cublaslt_statuses, status, "cublaslt", call, stream);
}

}  // namespace troupe::cuda
