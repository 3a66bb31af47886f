#include "libraries/blas/cuda/cublas.hpp"

#include "backend/cuda/context/failure.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/planner/cublaslt.hpp"

#include <memory>

namespace troupe::cuda {
namespace {

/// A lane's handle and the memory it works in. Ends with the lane, whose stream is drained by then.
struct attached {
  struct free_memory {
    void operator()(void* held) const noexcept { (void)cudaFree(held); }
  };
  struct destroy_handle {
    void operator()(cublasHandle_t held) const noexcept { (void)cublasDestroy(held); }
  };
  std::unique_ptr<void, free_memory> workspace;
  std::unique_ptr<cublasContext, destroy_handle> handle;  // last: it ends before its workspace
};

constexpr char attachment_key = 0;

result<std::shared_ptr<attached>> attach(lane& where) {
  auto made = std::make_shared<attached>();
  void* memory = nullptr;
  TRY(check(cudaMalloc(&memory, cublas_workspace_bytes), "cudaMalloc"));
  made->workspace.reset(memory);
  cublasHandle_t handle = nullptr;
  if (auto done = check(cublasCreate(&handle), "cublasCreate"); !done) {
    // The context is not lost, or the allocation before would have failed. cuBLAS then says "not
    // initialized" if it did not get memory.
    if (done.error().vendor_code == CUBLAS_STATUS_NOT_INITIALIZED &&
        done.error().code == errc::library_error) {
      done.error().code = errc::out_of_memory;
    }
    return std::move(done).error();
  }
  made->handle.reset(handle);
  // The stream first: setting it takes the workspace away again.
  TRY(check(cublasSetStream(handle, where.stream()), "cublasSetStream", handle));
  TRY(check(cublasSetWorkspace(handle, memory, cublas_workspace_bytes), "cublasSetWorkspace",
            handle));
  TRY(check(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST), "cublasSetPointerMode",
            handle));
  TRY(check(cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_NOT_ALLOWED), "cublasSetAtomicsMode",
            handle));
  TRY(check(cublasSetMathMode(handle, math_for(blas::math_mode::strict)), "cublasSetMathMode",
            handle));
  return made;
}

result<attached*> attached_to(lane& where) {
  std::shared_ptr<void>& place = where.attachment(&attachment_key);
  if (!place) place = TRY(attach(where));
  return static_cast<attached*>(place.get());
}

}  // namespace

result<cublasHandle_t> cublas_of(lane& where) { return TRY(attached_to(where))->handle.get(); }

result<std::span<std::byte>> cublas_workspace_of(lane& where) {
  return std::span(static_cast<std::byte*>(TRY(attached_to(where))->workspace.get()),
                   cublas_workspace_bytes);
}

result<void> check(cublasStatus_t status, std::string_view call, cublasHandle_t handle) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  cudaStream_t stream = cudaStreamLegacy;
  const bool lost = handle != nullptr && cublasGetStream(handle, &stream) != CUBLAS_STATUS_SUCCESS;
  error why = failure_of(cublas_statuses, status, "cublas", call, stream);
  if (lost) why.code = errc::device_fault;
  why.message = cublasGetStatusString(status);
  return why;
}

}  // namespace troupe::cuda
