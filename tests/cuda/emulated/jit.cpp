#include "cuda/emulated/jit.hpp"

#include "backend/cuda/driver.hpp"

#include <cstdint>
#include <cstring>

namespace troupe::emulated {

driver_state& state() {
  static driver_state one;
  return one;
}

namespace {

constexpr std::size_t log_size_option = 1;

const kernel& kernel_of(CUfunction f) { return *reinterpret_cast<const kernel*>(f); }
std::string name_of(CUfunction f) {
  for (const auto& [name, one] : state().kernels)
    if (&one == &kernel_of(f)) return name;
  return "?";
}

// Any address will do: there is nothing behind a module but its being one.
CUresult load_image(CUmodule* made, const void* image, unsigned, CUjit_option*, void** values) {
  if (std::strstr(static_cast<const char*>(image) + 4, "broken") != nullptr) {
    std::strncpy(static_cast<char*>(values[0]), "line 3: no such instruction",
                 reinterpret_cast<std::size_t>(values[log_size_option]));
    return CUDA_ERROR_INVALID_PTX;
  }
  ++state().images_loaded;
  *made = reinterpret_cast<CUmodule>(std::uintptr_t{0x200});
  return CUDA_SUCCESS;
}
CUresult unload_image(CUmodule) {
  ++state().images_unloaded;
  return state().current != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult get_function(CUfunction* found, CUmodule, const char* name) {
  const auto place = state().kernels.find(name);
  if (place == state().kernels.end()) return CUDA_ERROR_NOT_FOUND;
  *found = reinterpret_cast<CUfunction>(&place->second);
  return CUDA_SUCCESS;
}
CUresult load_function(CUfunction) { return CUDA_SUCCESS; }
CUresult get_attribute(int* value, CUfunction_attribute what, CUfunction f) {
  *value = what == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? kernel_of(f).most_threads
           : what == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES   ? kernel_of(f).static_shared_bytes
           : what == CU_FUNC_ATTRIBUTE_NUM_REGS            ? 40
                                                           : 0;
  return CUDA_SUCCESS;
}
CUresult set_attribute(CUfunction, CUfunction_attribute what, int value) {
  state().raised.emplace_back(what, value);
  return CUDA_SUCCESS;
}
CUresult get_parameter(CUfunction f, std::size_t i, std::size_t* offset, std::size_t* bytes) {
  const auto& all = kernel_of(f).parameters;
  if (i >= all.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = all[i].first;
  *bytes = all[i].second;
  return CUDA_SUCCESS;
}
CUresult launch(const CUlaunchConfig* config, CUfunction f, void** parameters, void**) {
  state().launches.push_back({.kernel = name_of(f),
                              .config = *config,
                              .attributes = {config->attrs, config->attrs + config->numAttrs},
                              .context = state().current});
  if (kernel_of(f).run) kernel_of(f).run(parameters);
  return CUDA_SUCCESS;
}
CUresult plain_launch(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                      CUstream stream, void** parameters, void** extra) {
  const CUlaunchConfig config{.gridDimX = grid_x,
                              .gridDimY = grid_y,
                              .gridDimZ = grid_z,
                              .blockDimX = block_x,
                              .blockDimY = block_y,
                              .blockDimZ = block_z,
                              .sharedMemBytes = shared_bytes,
                              .hStream = stream,
                              .attrs = nullptr,
                              .numAttrs = 0};
  return launch(&config, f, parameters, extra);
}
CUresult get_context(CUcontext* current) {
  *current = state().current;
  return CUDA_SUCCESS;
}
CUresult set_context(CUcontext wanted) {
  state().current = wanted;
  return CUDA_SUCCESS;
}
CUresult get_device(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}
CUresult device_attribute(int* value, CUdevice_attribute what, CUdevice) {
  *value = what == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? 227 * 1024 : 0;
  return CUDA_SUCCESS;
}
CUresult active_blocks(int* blocks, CUfunction, int threads, std::size_t) {
  *blocks = 2048 / threads;
  return CUDA_SUCCESS;
}
CUresult best_block(int* grid, int* block, CUfunction f, CUoccupancyB2DSize, std::size_t, int) {
  *block = kernel_of(f).most_threads;
  *grid = 264;
  return CUDA_SUCCESS;
}
CUresult best_cluster(int* blocks, CUfunction, const CUlaunchConfig*) {
  *blocks = 8;
  return CUDA_SUCCESS;
}
CUresult active_clusters(int* clusters, CUfunction, const CUlaunchConfig* config) {
  *clusters = config->numAttrs == 1 ? 66 : -1;
  return CUDA_SUCCESS;
}
CUresult encode_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                    const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
                    const cuuint32_t* steps, CUtensorMapInterleave, CUtensorMapSwizzle,
                    CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  map->opaque[0] = 0x71e;
  state().maps.push_back({.type = type,
                          .extents = {extents, extents + rank},
                          .strides = {strides, strides + rank - 1},
                          .box = {box, box + rank},
                          .steps = {steps, steps + rank},
                          .address = address});
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace troupe::emulated

namespace troupe::cuda {

result<const driver*> driver::load() {
  static const driver made = [] {
    driver d;
    d.cuModuleLoadDataEx = &emulated::load_image;
    d.cuModuleUnload = &emulated::unload_image;
    d.cuModuleGetFunction = &emulated::get_function;
    d.cuFuncLoad = &emulated::load_function;
    d.cuFuncGetAttribute = &emulated::get_attribute;
    d.cuFuncSetAttribute = &emulated::set_attribute;
    d.cuFuncGetParamInfo = &emulated::get_parameter;
    d.cuLaunchKernel = &emulated::plain_launch;
    d.cuLaunchKernelEx = &emulated::launch;
    d.cuCtxGetCurrent = &emulated::get_context;
    d.cuCtxSetCurrent = &emulated::set_context;
    d.cuCtxGetDevice = &emulated::get_device;
    d.cuDeviceGetAttribute = &emulated::device_attribute;
    d.cuOccupancyMaxActiveBlocksPerMultiprocessor = &emulated::active_blocks;
    d.cuOccupancyMaxPotentialBlockSize = &emulated::best_block;
    d.cuOccupancyMaxPotentialClusterSize = &emulated::best_cluster;
    d.cuOccupancyMaxActiveClusters = &emulated::active_clusters;
    d.cuTensorMapEncodeTiled = &emulated::encode_map;
    return d;
  }();
  return &made;
}

}  // namespace troupe::cuda
