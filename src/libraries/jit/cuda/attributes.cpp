#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/jit/cuda/modules.hpp"
#include "libraries/jit/cuda/shape.hpp"

#include <troupe/jit/attributes.hpp>

#include <array>
#include <utility>

namespace troupe::cuda {
namespace {

struct loaded_kernel {
  const driver* d;
  launchable* k;
};

result<loaded_kernel> load(const jit::kernel& which, lane& where) {
  const auto loaded = TRY(driver::load());
  const auto found = TRY(kernel_of(*loaded, where, which));
  return loaded_kernel{loaded, found};
}

result<void> ask_attributes(const jit::attributes& r, lane& where, jit::kernel_attributes* reply) {
  const auto loaded = TRY(load(r.kernel, where));
  const auto [d, k] = loaded;
  jit::kernel_attributes made{.most_threads = k->most_threads,
                              .static_shared_bytes = k->static_shared_bytes,
                              .most_dynamic_shared_bytes = k->most_dynamic_shared_bytes,
                              .parameters = static_cast<std::int64_t>(k->parameters.size())};
  if (!k->parameters.empty()) {
    const auto& last = k->parameters.back();
    made.parameter_bytes = static_cast<std::int64_t>(last.offset + last.bytes);
  }
  const std::array<std::pair<CUfunction_attribute, std::int64_t*>, 8> asked{{
      {CU_FUNC_ATTRIBUTE_NUM_REGS, &made.registers},
      {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &made.constant_bytes},
      {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &made.local_bytes},
      {CU_FUNC_ATTRIBUTE_PTX_VERSION, &made.ptx_version},
      {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &made.binary_version},
      {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &made.cluster_x},
      {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &made.cluster_y},
      {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &made.cluster_z},
  }};
  for (const auto& [what, to] : asked) {
    int value = 0;
    TRY(check(d->cuFuncGetAttribute(&value, what, k->function), "cuFuncGetAttribute"));
    *to = value;
  }
  *reply = made;
  return {};
}

result<void> ask_occupancy(const jit::occupancy& r, lane& where, jit::kernel_occupancy* reply) {
  const auto loaded = TRY(load(r.kernel, where));
  const auto [d, k] = loaded;
  const block_shape shape{r.block, r.shared_bytes, r.cluster};
  TRY(fit_shape(*d, *k, shape));
  const auto threads = static_cast<int>(r.block.x * r.block.y * r.block.z);
  const auto shared = static_cast<std::size_t>(r.shared_bytes);
  int blocks = 0;
  int best_block = 0;
  int best_grid = 0;
  int largest_cluster = 0;
  int active_clusters = 0;
  TRY(check(d->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k->function, threads, shared),
            "cuOccupancyMaxActiveBlocksPerMultiprocessor"));
  TRY(check(
      d->cuOccupancyMaxPotentialBlockSize(&best_grid, &best_block, k->function, nullptr, shared, 0),
      "cuOccupancyMaxPotentialBlockSize"));
  launch_configuration how(r.cluster, shape, where.stream());
  const CUresult clusters =
      d->cuOccupancyMaxPotentialClusterSize(&largest_cluster, k->function, &how.native());
  // GPUs before compute capability 9.0 have no clusters.
  if (clusters != CUDA_ERROR_NOT_SUPPORTED) {
    TRY(check(clusters, "cuOccupancyMaxPotentialClusterSize"));
    if (r.cluster != jit::dims{}) {
      TRY(check(d->cuOccupancyMaxActiveClusters(&active_clusters, k->function, &how.native()),
                "cuOccupancyMaxActiveClusters"));
    }
  }
  *reply = {.blocks_per_multiprocessor = blocks,
            .multiprocessors = where.multiprocessors(),
            .best_block = best_block,
            .best_grid = best_grid,
            .largest_cluster = largest_cluster,
            .clusters = active_clusters};
  return {};
}

const plugin_operations attributes_operations([](operation_table& table) {
  add<jit::attributes>(table, ask_attributes);
  add<jit::occupancy>(table, ask_occupancy);
});

}  // namespace
}  // namespace troupe::cuda
