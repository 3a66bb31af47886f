// A libcuda.so.1 for machines that have none: it shows the devices that the environment lists, and
// creates no context. It tests the messages about devices that cannot be used.
//
//   FAKE_CUDA_DEVICES   capability:mode of each, such as "90:0,80:0"; mode 2 is prohibited, 3
//                       exclusive
//   FAKE_CUDA_VERSION   1000 · major + 10 · minor
//   FAKE_CUDA_INIT      what cuInit answers
//   FAKE_CUDA_CONTEXT   what cuDevicePrimaryCtxRetain answers

#include <cuda.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace {

int setting(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

struct fake_device {
  int capability = 0;
  int mode = 0;
};

std::vector<fake_device> devices() {
  const char* const text = std::getenv("FAKE_CUDA_DEVICES");
  std::istringstream words(text != nullptr ? text : "90:0");
  std::vector<fake_device> found;
  for (std::string word; std::getline(words, word, ',');) {
    found.push_back({std::atoi(word.c_str()), std::atoi(word.c_str() + word.find(':') + 1)});
  }
  return found;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuInit(unsigned) {
  // As the driver does, for good.
  if (::open("/dev/null", O_RDONLY | O_CLOEXEC) <= STDERR_FILENO)
    return CUDA_ERROR_OPERATING_SYSTEM;
  return static_cast<CUresult>(setting("FAKE_CUDA_INIT", 0));
}
CUresult CUDAAPI cuDriverGetVersion(int* version) {
  *version = setting("FAKE_CUDA_VERSION", 13'000);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGetErrorName(CUresult code, const char** name) {
  *name = code == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_OF_THE_FAKE";
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGetErrorString(CUresult, const char** text) {
  *text = "an error of the fake driver";
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGetCount(int* count) {
  *count = static_cast<int>(devices().size());
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGetName(char* name, int room, CUdevice device) {
  const std::string text = "Fake " + std::to_string(device);
  std::strncpy(name, text.c_str(), static_cast<std::size_t>(room));
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  std::memset(uuid->bytes, 0x10 * (device + 1), sizeof(uuid->bytes));
  uuid->bytes[0] = 0x5f;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  *bytes = static_cast<std::size_t>(device + 1) << 30;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  const fake_device asked = devices().at(static_cast<std::size_t>(device));
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = asked.capability / 10;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = asked.capability % 10;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
      *value = asked.mode;
      break;
    default:
      *value = 1;
      break;
  }
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp*,
                                               CUmemAllocationGranularity_flags) {
  *bytes = 2 << 20;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext*, CUdevice) {
  return static_cast<CUresult>(setting("FAKE_CUDA_CONTEXT", CUDA_ERROR_NOT_SUPPORTED));
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr* at, size_t, size_t, CUdeviceptr,
                                     unsigned long long) {
  *at = 0x2000'0000'0000;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemAddressFree(CUdeviceptr, size_t) { return CUDA_SUCCESS; }

// Everything else is there and refuses.
int fake_driver_refuses() { return CUDA_ERROR_NOT_SUPPORTED; }
}

// The names as cuda.h maps them to their current versions.
#define FAKE_TEXT(name) #name
#define FAKE_REFUSED(name) \
  asm(".globl " FAKE_TEXT(name) "\n.set " FAKE_TEXT(name) ", fake_driver_refuses");
FAKE_REFUSED(cuDeviceCanAccessPeer)
FAKE_REFUSED(cuDeviceGetP2PAttribute)
FAKE_REFUSED(cuCtxGetDevice)
FAKE_REFUSED(cuCtxGetCurrent)
FAKE_REFUSED(cuCtxSetCurrent)
FAKE_REFUSED(cuMemCreate)
FAKE_REFUSED(cuMemRelease)
FAKE_REFUSED(cuMemExportToShareableHandle)
FAKE_REFUSED(cuMemImportFromShareableHandle)
FAKE_REFUSED(cuMemMap)
FAKE_REFUSED(cuMemUnmap)
FAKE_REFUSED(cuMemSetAccess)
FAKE_REFUSED(cuMemHostRegister)
FAKE_REFUSED(cuMemHostUnregister)
FAKE_REFUSED(cuMemAllocAsync)
FAKE_REFUSED(cuMemFreeAsync)
FAKE_REFUSED(cuLaunchKernel)
FAKE_REFUSED(cuLaunchKernelEx)
FAKE_REFUSED(cuModuleLoadDataEx)
FAKE_REFUSED(cuModuleUnload)
FAKE_REFUSED(cuModuleGetFunction)
FAKE_REFUSED(cuFuncLoad)
FAKE_REFUSED(cuFuncGetAttribute)
FAKE_REFUSED(cuFuncSetAttribute)
FAKE_REFUSED(cuFuncGetParamInfo)
FAKE_REFUSED(cuOccupancyMaxActiveBlocksPerMultiprocessor)
FAKE_REFUSED(cuOccupancyMaxPotentialBlockSize)
FAKE_REFUSED(cuOccupancyMaxPotentialClusterSize)
FAKE_REFUSED(cuOccupancyMaxActiveClusters)
FAKE_REFUSED(cuTensorMapEncodeTiled)
FAKE_REFUSED(cuCtxGetStreamPriorityRange)
FAKE_REFUSED(cuStreamCreateWithPriority)
FAKE_REFUSED(cuStreamDestroy)
FAKE_REFUSED(cuStreamQuery)
FAKE_REFUSED(cuStreamSynchronize)
FAKE_REFUSED(cuStreamWaitEvent)
FAKE_REFUSED(cuStreamWriteValue64)
FAKE_REFUSED(cuEventCreate)
FAKE_REFUSED(cuEventRecord)
FAKE_REFUSED(cuEventDestroy)
FAKE_REFUSED(cuMemAlloc)
FAKE_REFUSED(cuMemFree)
FAKE_REFUSED(cuMemGetInfo)
FAKE_REFUSED(cuMemsetD8Async)
FAKE_REFUSED(cuPointerGetAttribute)
FAKE_REFUSED(cuStreamBeginCapture)
FAKE_REFUSED(cuStreamEndCapture)
FAKE_REFUSED(cuStreamGetCaptureInfo)
FAKE_REFUSED(cuThreadExchangeStreamCaptureMode)
FAKE_REFUSED(cuGraphNodeGetType)
FAKE_REFUSED(cuGraphNodeGetDependencies)
FAKE_REFUSED(cuGraphMemcpyNodeGetParams)
FAKE_REFUSED(cuGraphInstantiateWithFlags)
FAKE_REFUSED(cuGraphExecUpdate)
FAKE_REFUSED(cuGraphLaunch)
FAKE_REFUSED(cuGraphExecDestroy)
FAKE_REFUSED(cuGraphDestroy)
FAKE_REFUSED(cuGraphAddNode)
FAKE_REFUSED(cuGraphConditionalHandleCreate)
FAKE_REFUSED(cuStreamBeginCaptureToGraph)
FAKE_REFUSED(cuEventQuery)
FAKE_REFUSED(cuEventSynchronize)
