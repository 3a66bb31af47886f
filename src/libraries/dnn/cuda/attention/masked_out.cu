#include "libraries/dnn/cuda/attention/masked_out.hpp"

#include <algorithm>

namespace troupe::cuda {
namespace {

__device__ std::int64_t count_of(const sequence_counts& counts, std::int64_t sequence) {
  return counts.of != nullptr ? counts.of[sequence] : counts.all;
}

// All threads of a warp ask for the same row.
__device__ bool has_other(const masked_rows& rows, std::int64_t batch, std::int64_t head,
                          std::int64_t i, std::int64_t own) {
  const std::int64_t other = count_of(rows.others, batch);
  const std::int64_t at = i + (rows.ends_meet ? other - own : 0);
  const std::int64_t first = rows.left < 0 || at < rows.left ? 0 : at - rows.left;
  const std::int64_t last =
      rows.right < 0 || at + rows.right >= other ? other - 1 : at + rows.right;
  const masking_bias& bias = rows.bias;
  if (bias.at == nullptr) return first <= last;
  const std::int64_t row = batch * bias.steps[0] + head * bias.steps[1] + i * bias.steps[2];
  for (std::int64_t j = first; j <= last; j += warpSize) {
    const std::int64_t key = j + threadIdx.x;
    const std::byte* const from = bias.at + (row + key * bias.steps[3]) * bias.element_bytes;
    const bool attends =
        key <= last &&
        (bias.element_bytes == 4 ? *reinterpret_cast<const std::uint32_t*>(from)
                                 : *reinterpret_cast<const std::uint16_t*>(from)) != bias.infinite;
    if (__any_sync(~0U, attends)) return true;
  }
  return false;
}

// One warp per row.
__global__ void store_masked_out(const __grid_constant__ masked_results all) {
  // This kernel is launched before the kernel that stores these results has ended: wait for it.
  cudaGridDependencySynchronize();
  const masked_rows& rows = all.of[blockIdx.y];
  const std::int64_t count = rows.extents[0] * rows.extents[1] * rows.extents[2];
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.y;
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y; row < count;
       row += step) {
    const std::int64_t i = row % rows.extents[2];
    const std::int64_t head = row / rows.extents[2] % rows.extents[1];
    const std::int64_t batch = row / rows.extents[2] / rows.extents[1];
    const std::int64_t own = count_of(rows.lengths, batch);
    if (i >= own && rows.offsets != nullptr) continue;
    const bool wrong = rows.wrong != nullptr && rows.wrong[batch] != 0;
    if (!wrong && i < own && has_other(rows, batch, head, i, own)) continue;
    const std::uint32_t word = wrong ? rows.nan : rows.word;
    const std::int64_t begin =
        (rows.offsets != nullptr ? rows.offsets[batch] : batch * rows.strides[0]) +
        head * rows.strides[1] + i * rows.strides[2];
    for (std::int64_t x = threadIdx.x; x < rows.extents[3]; x += blockDim.x) {
      std::byte* const to = rows.at + (begin + x * rows.strides[3]) * rows.element_bytes;
      if (rows.element_bytes == 4) {
        *reinterpret_cast<std::uint32_t*>(to) = word;
      } else if (rows.element_bytes == 2) {
        *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(word);
      } else {
        *to = static_cast<std::byte>(word);
      }
    }
  }
}

}  // namespace

cudaError_t enqueue_store_masked_out(const masked_results& all, cudaStream_t stream) {
  std::int64_t most = 0;
  for (unsigned i = 0; i < all.count; ++i) {
    const auto& extents = all.of[i].extents;
    if (extents[3] != 0) most = std::max(most, extents[0] * extents[1] * extents[2]);
  }
  if (most == 0) return cudaSuccess;
  constexpr unsigned rows_per_block = 8;
  constexpr std::int64_t most_blocks = 4096;
  const auto blocks =
      static_cast<unsigned>(std::min((most + rows_per_block - 1) / rows_per_block, most_blocks));
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t shape{};
  shape.gridDim = dim3(blocks, all.count);
  shape.blockDim = dim3(32, rows_per_block);
  shape.stream = stream;
  shape.attrs = &early;
  shape.numAttrs = 1;
  return cudaLaunchKernelEx(&shape, store_masked_out, all);
}

}  // namespace troupe::cuda
