#include "libraries/blas/cuda/cublas.hpp"

#include "backend/cuda/context/failure.hpp"
#include "base/try.hpp"

#include <cstddef>
#include <memory>

namespace troupe::cuda {
namespace {

/// What NVIDIA recommends for Hopper. Source: cuBLAS documentation, cublasSetWorkspace.
constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

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
  TRY(check(cudaMalloc(&memory, workspace_bytes), "cudaMalloc"));
  made->workspace.reset(memory);
  cublasHandle_t handle = nullptr;
  if (auto done = check(cublasCreate(&handle), "cublasCreate"); !done) {
    // The context is fine or the allocation before would have said so; what cuBLAS then calls
    // "not initialized" is memory that it did not get.
    if (done.error().vendor_code == CUBLAS_STATUS_NOT_INITIALIZED &&
        done.error().code == errc::library_error) {
      done.error().code = errc::out_of_memory;
    }
    return std::move(done).error();
  }
  made->handle.reset(handle);
  const auto set_up = [&]() -> result<void> {
    // The stream first: setting it takes the workspace away again.
    TRY(check(cublasSetStream(handle, where.stream()), "cublasSetStream", handle));
    TRY(check(cublasSetWorkspace(handle, memory, workspace_bytes), "cublasSetWorkspace", handle));
    TRY(check(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST), "cublasSetPointerMode",
              handle));
    TRY(check(cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_NOT_ALLOWED), "cublasSetAtomicsMode",
              handle));
    return check(cublasSetMathMode(handle, math_for(blas::math_mode::strict)), "cublasSetMathMode",
                 handle);
  };
  TRY(set_up());
  return made;
}

result<attached*> attached_to(lane& where) {
  std::shared_ptr<void>& place = where.attachment(&attachment_key);
  if (!place) {
    place = TRY(attach(where));
  }
  return static_cast<attached*>(place.get());
}

/// True when the device multiplies f32 as nine products of bf16. Source: cuBLAS documentation,
/// "Floating Point Emulation": compute capability 10.
bool has_bf16x9() noexcept {
  int device = 0;
  int major = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         major == 10;
}

errc meaning_of(cublasStatus_t status) noexcept {
  switch (status) {
    case CUBLAS_STATUS_ALLOC_FAILED:
      return errc::out_of_memory;
    case CUBLAS_STATUS_ARCH_MISMATCH:
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return errc::unsupported;
    case CUBLAS_STATUS_SUCCESS:
    case CUBLAS_STATUS_NOT_INITIALIZED:
    case CUBLAS_STATUS_INVALID_VALUE:
    case CUBLAS_STATUS_MAPPING_ERROR:
    case CUBLAS_STATUS_EXECUTION_FAILED:
    case CUBLAS_STATUS_INTERNAL_ERROR:
    case CUBLAS_STATUS_LICENSE_ERROR:
      return errc::library_error;
  }
  return errc::device_fault;  // as for every code that nobody has listed
}

/// True when nothing that is enqueued on the handle's stream runs any more.
bool context_is_lost(cublasHandle_t handle) noexcept {
  cudaStream_t stream = cudaStreamLegacy;
  if (handle != nullptr && cublasGetStream(handle, &stream) != CUBLAS_STATUS_SUCCESS) return true;
  return cuda::context_is_lost(stream);
}

}  // namespace

result<cublasHandle_t> cublas_of(lane& where) {
  auto held = TRY(attached_to(where));
  return held->handle.get();
}

result<std::span<std::byte>> cublas_workspace_of(lane& where) {
  const auto held = TRY(attached_to(where));
  return std::span(static_cast<std::byte*>(held->workspace.get()), workspace_bytes);
}

result<void> check(cublasStatus_t status, std::string_view call, cublasHandle_t handle) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return error{.code = context_is_lost(handle) ? errc::device_fault : meaning_of(status),
               .message = cublasGetStatusString(status),
               .library = "cublas",
               .call = std::string(call),
               .code_name = cublasGetStatusName(status),
               .vendor_code = status};
}

cublasMath_t math_for(blas::math_mode mode) noexcept {
  unsigned chosen = CUBLAS_DEFAULT_MATH;
  if (mode == blas::math_mode::tf32) chosen = CUBLAS_TF32_TENSOR_OP_MATH;
  if (mode == blas::math_mode::bf16x9 && has_bf16x9()) chosen = CUBLAS_FP32_EMULATED_BF16X9_MATH;
  return static_cast<cublasMath_t>(chosen | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
}

cublasComputeType_t compute_for(blas::math_mode mode) noexcept {
  if (mode == blas::math_mode::tf32) return CUBLAS_COMPUTE_32F_FAST_TF32;
  if (mode == blas::math_mode::bf16x9 && has_bf16x9()) return CUBLAS_COMPUTE_32F_EMULATED_16BFX9;
  return CUBLAS_COMPUTE_32F;
}

}  // namespace troupe::cuda
