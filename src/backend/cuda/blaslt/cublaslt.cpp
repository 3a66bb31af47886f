#include "backend/cuda/blaslt/cublaslt.hpp"

#include "backend/cuda/blaslt/status.hpp"
#include "backend/cuda/failure.hpp"

namespace troupe::cuda {

result<void> check(cublasStatus_t status, std::string_view call, cudaStream_t stream) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return failure_of(cublaslt_statuses, status, "cublaslt", call, stream);
}

}  // namespace troupe::cuda
