#include "backend/cuda/context/failure.hpp"

#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace troupe::cuda {

namespace {

/// Codes of the runtime that the driver does not have: the runtime refused the call before the
/// driver saw it.
bool refused_by_runtime(int code) noexcept {
  switch (code) {
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidSymbol:
    case cudaErrorInvalidHostPointer:
    case cudaErrorInvalidDevicePointer:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorMissingConfiguration:
    case cudaErrorInvalidDeviceFunction:
      return true;
    default:
      return false;
  }
}

}  // namespace

severity severity_of(int code) noexcept {
  if (refused_by_runtime(code)) return severity::request;
  switch (static_cast<CUresult>(code)) {
    case CUDA_SUCCESS:
      return severity::none;
    case CUDA_ERROR_NOT_READY:
      return severity::not_ready;

    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
      return severity::memory;

    // The call was wrong or is unsupported; nothing was enqueued.
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_MAP_FAILED:
    case CUDA_ERROR_UNMAP_FAILED:
    case CUDA_ERROR_ARRAY_IS_MAPPED:
    case CUDA_ERROR_ALREADY_MAPPED:
    case CUDA_ERROR_ALREADY_ACQUIRED:
    case CUDA_ERROR_NOT_MAPPED:
    case CUDA_ERROR_NOT_MAPPED_AS_ARRAY:
    case CUDA_ERROR_NOT_MAPPED_AS_POINTER:
    case CUDA_ERROR_UNSUPPORTED_LIMIT:
    case CUDA_ERROR_CONTEXT_ALREADY_IN_USE:
    case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_INVALID_GRAPHICS_CONTEXT:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_JIT_COMPILATION_DISABLED:
    case CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY:
    case CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_FILE_NOT_FOUND:
    case CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND:
    case CUDA_ERROR_SHARED_OBJECT_INIT_FAILED:
    case CUDA_ERROR_OPERATING_SYSTEM:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_ILLEGAL_STATE:
    case CUDA_ERROR_LOSSY_QUERY:
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING:
    case CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED:
    case CUDA_ERROR_PEER_ACCESS_NOT_ENABLED:
    case CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE:
    case CUDA_ERROR_TOO_MANY_PEERS:
    case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
    case CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED:
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    case CUDA_ERROR_NOT_PERMITTED:
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_MERGE:
    case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
    case CUDA_ERROR_CAPTURED_EVENT:
    case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
    case CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE:
    case CUDA_ERROR_INVALID_CLUSTER_SIZE:
    case CUDA_ERROR_INVALID_RESOURCE_TYPE:
    case CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION:
    case CUDA_ERROR_KEY_ROTATION:
    case CUDA_ERROR_FUNCTION_NOT_LOADED:
    case CUDA_ERROR_PROFILER_DISABLED:
    case CUDA_ERROR_PROFILER_NOT_INITIALIZED:
    case CUDA_ERROR_PROFILER_ALREADY_STARTED:
    case CUDA_ERROR_PROFILER_ALREADY_STOPPED:
      return severity::request;

    // No card, or one that does not answer: another process would not help.
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_DEVICE_NOT_LICENSED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_STUB_LIBRARY:
    case CUDA_ERROR_SYSTEM_NOT_READY:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
    case CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER:
    case CUDA_ERROR_MPS_CONNECTION_FAILED:
    case CUDA_ERROR_MPS_RPC_FAILURE:
    case CUDA_ERROR_MPS_SERVER_NOT_READY:
    case CUDA_ERROR_MPS_MAX_CLIENTS_REACHED:
    case CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED:
      return severity::device_gone;

    // Sticky: measured for the first six, documented for the rest.
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case CUDA_ERROR_CDP_NOT_SUPPORTED:
    case CUDA_ERROR_CDP_VERSION_MISMATCH:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_CONTEXT_ALREADY_CURRENT:
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_TIMEOUT:
    case CUDA_ERROR_UNKNOWN:
      return severity::lost;
  }
  return severity::lost;
}

result<void> check(cudaError_t code, std::string_view call) {
  const severity how_bad = severity_of(code);
  if (how_bad == severity::none) return {};
  error why{.message = cudaGetErrorString(code),
            .library = "cuda",
            .call = std::string(call),
            .code_name = cudaGetErrorName(code),
            .vendor_code = code};
  switch (how_bad) {
    case severity::none:
    case severity::not_ready:
    case severity::request:
      why.code = errc::library_error;
      break;
    case severity::memory:
      why.code = errc::out_of_memory;
      break;
    case severity::lost:
    case severity::device_gone:
      why.code = errc::device_fault;
      break;
  }
  // A refused call leaves its code behind for the next caller.
  (void)cudaGetLastError();
  return why;
}

error failure_of(std::span<const vendor_status> known, int status, std::string_view library,
                 std::string_view call, cudaStream_t stream) {
  const auto found = std::ranges::find(known, status, &vendor_status::number);
  const bool listed = found != known.end();
  return {.code = !listed || context_is_lost(stream) ? errc::device_fault : found->kind,
          .message = "the library gives no further reason",
          .library = std::string(library),
          .call = std::string(call),
          .code_name = listed ? std::string(found->name) : std::string(),
          .vendor_code = status};
}

}  // namespace troupe::cuda
