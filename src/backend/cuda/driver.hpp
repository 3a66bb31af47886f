#pragma once

#include "backend/cuda/context/failure.hpp"

#include <troupe/base/result.hpp>

#include <cuda.h>

#include <string>
#include <string_view>

namespace troupe::cuda {

// Every driver function that is called, by the name that cuda.h maps to its current version.
// clang-format off
#define TROUPE_CUDA_DRIVER_FUNCTIONS(each) \
  each(cuInit) \
  each(cuDriverGetVersion) \
  each(cuGetErrorName) \
  each(cuGetErrorString) \
  each(cuDeviceGetCount) \
  each(cuDeviceGet) \
  each(cuDeviceGetName) \
  each(cuDeviceGetUuid) \
  each(cuDeviceGetAttribute) \
  each(cuDeviceCanAccessPeer) \
  each(cuDeviceGetP2PAttribute) \
  each(cuDeviceTotalMem) \
  each(cuDevicePrimaryCtxRetain) \
  each(cuCtxGetDevice) \
  each(cuCtxSetCurrent) \
  each(cuCtxGetCurrent) \
  each(cuMemGetAllocationGranularity) \
  each(cuMemCreate) \
  each(cuMemRelease) \
  each(cuMemExportToShareableHandle) \
  each(cuMemImportFromShareableHandle) \
  each(cuMemAddressReserve) \
  each(cuMemAddressFree) \
  each(cuMemMap) \
  each(cuMemUnmap) \
  each(cuMemSetAccess) \
  each(cuMemHostRegister) \
  each(cuMemHostUnregister) \
  each(cuMemAllocAsync) \
  each(cuMemFreeAsync) \
  each(cuLaunchKernel) \
  each(cuLaunchKernelEx) \
  each(cuModuleLoadDataEx) \
  each(cuModuleUnload) \
  each(cuModuleGetFunction) \
  each(cuFuncLoad) \
  each(cuFuncGetAttribute) \
  each(cuFuncSetAttribute) \
  each(cuFuncGetParamInfo) \
  each(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  each(cuOccupancyMaxPotentialBlockSize) \
  each(cuOccupancyMaxPotentialClusterSize) \
  each(cuOccupancyMaxActiveClusters) \
  each(cuTensorMapEncodeTiled) \
  each(cuStreamCreateWithPriority) \
  each(cuCtxGetStreamPriorityRange) \
  each(cuStreamDestroy) \
  each(cuStreamQuery) \
  each(cuStreamSynchronize) \
  each(cuStreamWaitEvent) \
  each(cuStreamWriteValue64) \
  each(cuEventCreate) \
  each(cuEventRecord) \
  each(cuEventDestroy) \
  each(cuMemAlloc) \
  each(cuMemFree) \
  each(cuMemGetInfo) \
  each(cuMemsetD8Async) \
  each(cuPointerGetAttribute) \
  each(cuStreamBeginCapture) \
  each(cuStreamEndCapture) \
  each(cuStreamGetCaptureInfo) \
  each(cuThreadExchangeStreamCaptureMode) \
  each(cuGraphNodeGetType) \
  each(cuGraphNodeGetDependencies) \
  each(cuGraphMemcpyNodeGetParams) \
  each(cuGraphInstantiateWithFlags) \
  each(cuGraphExecUpdate) \
  each(cuGraphLaunch) \
  each(cuGraphExecDestroy) \
  each(cuGraphDestroy) \
  each(cuGraphAddNode) \
  each(cuGraphConditionalHandleCreate) \
  each(cuStreamBeginCaptureToGraph) \
  each(cuEventQuery) \
  each(cuEventSynchronize)
// clang-format on

/// The driver's functions, found at run time: nothing here needs a driver to be built or loaded.
struct driver {
  // The driver's own names; a declared name takes no parentheses.
  // NOLINTBEGIN(bugprone-macro-parentheses,readability-identifier-naming)
#define TROUPE_CUDA_DRIVER_MEMBER(name) decltype(&::name) name = nullptr;
  TROUPE_CUDA_DRIVER_FUNCTIONS(TROUPE_CUDA_DRIVER_MEMBER)
#undef TROUPE_CUDA_DRIVER_MEMBER
  // NOLINTEND(bugprone-macro-parentheses,readability-identifier-naming)

  /// Loads the driver and initialises it, once in a process.
  /// \errors `device_unavailable`, with everything that was tried and the remedy
  [[nodiscard]] static result<const driver*> load();
};

/// Explains why devices may be hidden: empty, or "; " and a sentence on CUDA_VISIBLE_DEVICES.
[[nodiscard]] std::string what_hides_devices();

/// The oldest driver that this build runs with, as `cuDriverGetVersion` counts: 1000 · major + 10 ·
/// minor of the CUDA version it supports.
inline constexpr int oldest_driver = 13'000;

[[nodiscard]] inline result<void> check(CUresult code, std::string_view call) {
  return check(static_cast<cudaError_t>(code), call);
}

}  // namespace troupe::cuda
