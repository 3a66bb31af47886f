#include "backend/cuda/blaslt/cublaslt.hpp"

#include "backend/cuda/blaslt/status.hpp"
#include "backend/cuda/failure.hpp"

#include <algorithm>
#include <string>

namespace troupe::cuda {

result<void> check(cublasStatus_t status, std::string_view call, cudaStream_t stream) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  const auto known =
      std::ranges::find(cublaslt_statuses, static_cast<int>(status), &cublaslt_status::number);
  const bool listed = known != cublaslt_statuses.end();
  return error{.code = !listed || context_is_lost(stream) ? errc::device_fault : known->kind,
               .message = "cuBLASLt gives no further reason",
               .library = "cublaslt",
               .call = std::string(call),
               .code_name = listed ? std::string(known->name) : std::string(),
               .vendor_code = status};
}

}  // namespace troupe::cuda
