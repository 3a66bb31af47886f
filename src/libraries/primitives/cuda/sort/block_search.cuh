#pragma once

#include "libraries/primitives/cuda/kernels/numbers.cuh"

#include <cstdint>

/// A block's search for the first k of its candidates, in shared memory. It reads each candidate
/// once: those before the k-th of all so far gather until there is no room left; then they are
/// sorted, and all but the first k go.
namespace troupe::cuda {

inline constexpr int search_threads = 256;
inline constexpr int thread_candidates = 8;
inline constexpr int search_room = search_threads * thread_candidates;
/// The most of a longer row: there must be room for others beside them.
inline constexpr int most_searched = search_room / 2;

/// A key, and the index of its element. No two of a row are equal.
template <class Key>
struct alignas(2 * sizeof(Key)) candidate {
  Key key;
  std::uint32_t index;

  /// Behind every element: indices have 31 bits.
  [[nodiscard]] static __device__ candidate none() {
    return {primitives::key_order<Key>::highest, 0xffffffff};
  }
  friend __device__ bool operator<(const candidate& a, const candidate& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

template <class Key>
struct found_candidates {
  candidate<Key> all[search_room];
  int count;
};

/// Sorts candidates; writes up to the next power of two.
template <class Key>
__device__ void sort_candidates(candidate<Key>* all, int count) {
  const int threads = static_cast<int>(blockDim.x);
  const int thread = static_cast<int>(threadIdx.x);
  int size = 1;
  while (size < count)
    size *= 2;
  for (int i = count + thread; i < size; i += threads)
    all[i] = candidate<Key>::none();
  __syncthreads();
  for (int run = 2; run <= size; run *= 2) {
    for (int apart = run / 2; apart > 0; apart /= 2) {
      for (int i = thread; i < size / 2; i += threads) {
        const int low = 2 * i - (i & (apart - 1));
        const int high = low + apart;
        const bool ascends = (low & run) == 0;
        const candidate<Key> a = all[low];
        const candidate<Key> b = all[high];
        if ((b < a) == ascends) {
          all[low] = b;
          all[high] = a;
        }
      }
      __syncthreads();
    }
  }
}

/// Sorts what has been found and drops all but the first k. \returns how many are left
template <class Key>
__device__ int keep_first(found_candidates<Key>& found, int count, int k) {
  sort_candidates(found.all, count);
  const int kept = min(count, k);
  if (threadIdx.x == 0) found.count = kept;
  __syncthreads();
  return kept;
}

/// Finds the first k of `count` candidates and sorts them. `load(first, own)` loads one for each e:
/// that at first + e · blockDim.x + threadIdx.x, or none. \returns how many there are, up to k
template <class Key, class Load>
__device__ int find_first(found_candidates<Key>& found, std::int64_t count, int k,
                          const Load& load) {
  const int threads = static_cast<int>(blockDim.x);
  const std::int64_t tile = threads * thread_candidates;
  const std::int64_t tiles = (count + tile - 1) / tile;
  if (threadIdx.x == 0) found.count = 0;
  __syncthreads();
  candidate<Key> bound = candidate<Key>::none();
  bool is_bounded = false;
  // Tiles in the order of their reversed bits: in that of their numbers, each element of a row that
  // is sorted the other way would be before all so far.
  const int bits = tiles > 1 ? 64 - __clzll(tiles - 1) : 0;
  for (std::int64_t turn = 0; turn < std::int64_t{1} << bits; ++turn) {
    const auto at = static_cast<std::int64_t>(
        bits == 0 ? 0 : __brevll(static_cast<unsigned long long>(turn)) >> (64 - bits));
    if (at >= tiles) continue;
    candidate<Key> own[thread_candidates];
    load(at * tile, own);
    unsigned before = 0;
#pragma unroll
    for (int e = 0; e < thread_candidates; ++e)
      before |= own[e] < bound ? 1U << e : 0U;
    int held = found.count;  // all read it before one adds
    const int finders = __syncthreads_count(before != 0);
    if (finders == 0) continue;
    if (is_bounded && held + finders * thread_candidates <= search_room) {
#pragma unroll
      for (int e = 0; e < thread_candidates; ++e) {
        if ((before >> e & 1) != 0) found.all[atomicAdd(&found.count, 1)] = own[e];
      }
      __syncthreads();
      continue;
    }
#pragma unroll
    for (int e = 0; e < thread_candidates; ++e) {
      if (held + threads > search_room || (!is_bounded && held >= k)) {
        held = keep_first(found, held, k);
        bound = found.all[k - 1];
        is_bounded = true;
      }
      if (own[e] < bound) found.all[atomicAdd(&found.count, 1)] = own[e];
      __syncthreads();
      held = found.count;
      __syncthreads();
    }
  }
  return keep_first(found, found.count, k);
}

}  // namespace troupe::cuda
