#pragma once

#include "libraries/dnn/cuda/images/channel_numbers.cuh"

#include <algorithm>

/// Batch norms in one go: a cluster of blocks takes a channel, sums it, and applies the sums while
/// its elements are in the cache. So many channels are under way at a time as the cache holds.
namespace troupe::cuda {

inline constexpr std::int64_t most_blocks_of_cluster = 8;

/// How a channel of so many bytes is shared among blocks; 0 blocks where it is too large.
struct cluster_shape {
  std::int64_t blocks = 0;
  std::size_t shared_bytes = 0;  ///< which keep more blocks from a multiprocessor

  explicit cluster_shape(std::int64_t bytes) noexcept {
    constexpr std::int64_t some = std::int64_t{64} << 10;
    constexpr std::int64_t most = std::int64_t{224} << 10;  // of each multiprocessor
    std::int64_t needed = 1;
    while (needed < most_blocks_of_cluster && bytes / needed > some)
      needed *= 2;
    const std::int64_t of_block = bytes / needed;
    if (of_block > most) return;
    blocks = needed;
    const std::int64_t together = most / std::max(of_block, most / 8);
    if (together < 8)
      shared_bytes = static_cast<std::size_t>((std::int64_t{228} << 10) / (together + 1));
  }
};

/// As `launch`, in clusters of so many blocks, each with so much shared memory beside what the
/// kernel declares. Precondition: the GPU has clusters, of 8 blocks at most.
template <class... Parameters>
[[nodiscard]] result<void> launch_clusters(void (*kernel)(Parameters...), std::int64_t blocks,
                                           unsigned threads, unsigned blocks_of_cluster,
                                           std::size_t shared_bytes, cudaStream_t stream,
                                           std::type_identity_t<Parameters>... arguments) {
  if (blocks > std::numeric_limits<std::int32_t>::max()) {
    return error{.code = errc::unsupported, .message = "more elements than one launch takes"};
  }
  if (auto set = check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(shared_bytes)),
                       "cudaFuncSetAttribute");
      !set) {
    return set;
  }
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {.x = blocks_of_cluster, .y = 1, .z = 1};
  cudaLaunchConfig_t shape{};
  shape.gridDim = dim3(static_cast<unsigned>(blocks));
  shape.blockDim = dim3(threads);
  shape.dynamicSmemBytes = shared_bytes;
  shape.stream = stream;
  shape.attrs = &cluster;
  shape.numAttrs = 1;
  return check(cudaLaunchKernelEx(&shape, kernel, arguments...), "cudaLaunchKernelEx");
}

/// Waits for all blocks of the cluster, whose writes are seen afterwards.
__device__ __forceinline__ void wait_for_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}

template <template <class> class Sums, class Real>
__device__ __forceinline__ Sums<Real> of_first_lane(const Sums<Real>& s) {
  return {__shfl_sync(0xffffffffu, s.count, 0), __shfl_sync(0xffffffffu, s.first, 0),
          __shfl_sync(0xffffffffu, s.second, 0)};
}

// A cluster of `parts` blocks for each channel; of moments where `Numbers` are of training, else of
// a gradient.
template <class T, int V, class Numbers>
__global__ void __launch_bounds__(image_threads)
    normalize_channels(const __grid_constant__ sum_operands p, int across,
                       const __grid_constant__ Numbers r, const __grid_constant__ image_view to,
                       image_real<T> elements) {
  using real = image_real<T>;
  constexpr bool gradient = std::same_as<Numbers, gradient_numbers>;
  const std::int64_t c = blockIdx.x / p.parts;
  const std::int64_t part = blockIdx.x % p.parts;
  const bool stores = part == 0 && threadIdx.x == 0;
  applied_numbers<real> numbers;
  const auto sum_up = [&]<template <class> class Sums>(const Sums<real>& mine) {
    Sums<real>* const of_channel = static_cast<Sums<real>*>(p.sums) + c * p.parts;
    if (threadIdx.x == 0) of_channel[part] = mine;
    wait_for_cluster();
    return of_first_lane<Sums, real>(sums_of_channel<Sums, real>(p.sums, c, p.parts));
  };
  if constexpr (gradient) {
    const real mean = r.mean.template get<real>(c, 0);
    const auto all = sum_up(sums_of_part<products, T, V>(p, c, part, across, mean));
    numbers = finished(r, c, all, elements, stores);
  } else {
    const auto all = sum_up(sums_of_part<moments, T, V>(p, c, part, across, real{0}));
    numbers = finished(r, c, all, stores);
  }

  const std::int64_t begin = part_begin(p.each.count, p.parts, part);
  const std::int64_t end = part_begin(p.each.count, p.parts, part + 1);
  const int lane = static_cast<int>(threadIdx.x) % across;
  const int rows = static_cast<int>(image_threads) / across;
  // Backwards: what was read last is nearest.
  for (std::int64_t i = end - 1 - static_cast<int>(threadIdx.x) / across; i >= begin; i -= rows) {
    image_place at = p.each.at(i);
    at.w += lane * V;
    const auto line_of = [&](const image_view& v) {
      return v.elements<T>() + c * v.c_step + at.in(v);
    };
    const T* const from = line_of(p.x);
    const T* const gradients = gradient ? line_of(p.dy) : nullptr;
    T* const result = line_of(to);
#pragma unroll
    for (int g = 0; g < vectors_each; ++g) {
      const std::int64_t column = g * across * V;
      if (at.w + column >= p.columns) break;
      real x[V];
      load_pack<T, V>(from + column * p.x.steps[2], x);
      if constexpr (gradient) {
        real dy[V];
        load_pack<T, V>(gradients + column * p.dy.steps[2], dy);
#pragma unroll
        for (int v = 0; v < V; ++v) {
          x[v] = (dy[v] - numbers.first - (x[v] - numbers.mean) * numbers.second) * numbers.scale;
        }
      } else {
#pragma unroll
        for (int v = 0; v < V; ++v)
          x[v] = (x[v] - numbers.mean) * numbers.first + numbers.second;
      }
      store_pack<T, V>(x, result + column * to.steps[2]);
    }
  }
}

}  // namespace troupe::cuda
