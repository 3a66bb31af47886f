#include "libraries/jit/cuda/shape.hpp"

#include "base/try.hpp"

#include <fmt/format.h>

namespace troupe::cuda {
namespace {

// The limits for every kernel without an attribute that raises them. Source: CUDA C++ Programming
// Guide, "Shared Memory" of compute capability 8.x and 9.0; "Thread Block Clusters".
constexpr std::int64_t plain_shared_bytes = 49'152;
constexpr std::int64_t plain_cluster_blocks = 8;

std::int64_t product(const jit::dims& d) noexcept { return d.x * d.y * d.z; }

}  // namespace

result<void> fit_shape(const driver& d, launchable& k, const block_shape& s) {
  if (product(s.block) > k.most_threads) {
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("block is {} x {} x {}, the kernel takes at most {} threads "
                               "with the registers that it needs",
                               s.block.x, s.block.y, s.block.z, k.most_threads)};
  }
  if (s.shared_bytes > k.most_dynamic_shared_bytes) {
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("shared_bytes is {}, this GPU has {} for a block beside the "
                               "kernel's own {}",
                               s.shared_bytes, k.most_dynamic_shared_bytes, k.static_shared_bytes)};
  }
  if (s.shared_bytes + k.static_shared_bytes > plain_shared_bytes && !k.shared_is_raised) {
    // Raise it to the maximum at once: the attribute belongs to the kernel, which other lanes
    // launch, too.
    TRY(check(d.cuFuncSetAttribute(k.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   k.most_dynamic_shared_bytes),
              "cuFuncSetAttribute"));
    k.shared_is_raised = true;
  }
  if (product(s.cluster) > plain_cluster_blocks && !k.clusters_are_raised) {
    TRY(check(
        d.cuFuncSetAttribute(k.function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
        "cuFuncSetAttribute"));
    k.clusters_are_raised = true;
  }
  return {};
}

launch_configuration::launch_configuration(const jit::dims& grid, const block_shape& s,
                                           CUstream stream) noexcept {
  native_.gridDimX = static_cast<unsigned>(grid.x);
  native_.gridDimY = static_cast<unsigned>(grid.y);
  native_.gridDimZ = static_cast<unsigned>(grid.z);
  native_.blockDimX = static_cast<unsigned>(s.block.x);
  native_.blockDimY = static_cast<unsigned>(s.block.y);
  native_.blockDimZ = static_cast<unsigned>(s.block.z);
  native_.sharedMemBytes = static_cast<unsigned>(s.shared_bytes);
  native_.hStream = stream;
  native_.attrs = attributes_.data();
  if (product(s.cluster) > 1) {
    auto& cluster = add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim;
    cluster.x = static_cast<unsigned>(s.cluster.x);
    cluster.y = static_cast<unsigned>(s.cluster.y);
    cluster.z = static_cast<unsigned>(s.cluster.z);
  }
}

CUlaunchAttributeValue& launch_configuration::add(CUlaunchAttributeID id) noexcept {
  CUlaunchAttribute& next = attributes_[native_.numAttrs++];
  next.id = id;
  return next.value;
}

}  // namespace troupe::cuda
