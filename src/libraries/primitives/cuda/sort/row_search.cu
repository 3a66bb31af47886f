#include "backend/cuda/context/call_frame.hpp"
#include "libraries/primitives/cuda/kernels/grid.cuh"
#include "libraries/primitives/cuda/sort/block_search.cuh"
#include "libraries/primitives/cuda/sort/row_search.hpp"

#include <algorithm>
#include <limits>

namespace troupe::cuda {
namespace {

using primitives::sorting_order;

/// Rows in chunks, each of which a block searches.
template <class Key>
struct searched_rows {
  row_search r;
  sorting_order<Key> order;
  int k;
  std::int64_t chunks;  ///< in each row
  std::int64_t chunk_length;
  candidate<Key>* of_chunks;  ///< k of each; null if each row is one chunk
};

/// Loads elements of a part of a row.
template <class Key>
struct element_loader {
  const std::byte* row;
  std::int64_t step;
  std::int64_t begin;
  std::int64_t end;
  int bytes;
  const sorting_order<Key>& order;

  template <class T>
  __device__ void load(std::int64_t first, candidate<Key> (&own)[thread_candidates]) const {
    const auto* const elements = reinterpret_cast<const T*>(row);
#pragma unroll
    for (int e = 0; e < thread_candidates; ++e) {
      const std::int64_t i = begin + first + e * static_cast<int>(blockDim.x) + threadIdx.x;
      own[e] = i < end
                   ? candidate<Key>{order.key_of(elements[i * step]), static_cast<std::uint32_t>(i)}
                   : candidate<Key>::none();
    }
  }
  // The width is looked at outside of the loop, so that loads do not wait for each other.
  __device__ void operator()(std::int64_t first, candidate<Key> (&own)[thread_candidates]) const {
    if constexpr (sizeof(Key) == 8) {
      load<std::uint64_t>(first, own);
    } else if (bytes == 4) {
      load<std::uint32_t>(first, own);
    } else if (bytes == 2) {
      load<std::uint16_t>(first, own);
    } else {
      load<std::uint8_t>(first, own);
    }
  }
};

template <class Key>
__device__ void store_found(const searched_rows<Key>& s, std::int64_t row,
                            const found_candidates<Key>& found) {
  std::byte* const elements = s.r.found.row(row);
  std::byte* const indices = s.r.indices.first == nullptr ? nullptr : s.r.indices.row(row);
  for (int i = static_cast<int>(threadIdx.x); i < s.k; i += static_cast<int>(blockDim.x)) {
    const int bytes = s.r.found.bytes;
    store_bits(elements + i * s.r.found.step * bytes, bytes, s.order.bits_of(found.all[i].key));
    if (indices != nullptr) {
      store_bits(indices + i * s.r.indices.step * s.r.indices.bytes, s.r.indices.bytes,
                 found.all[i].index);
    }
  }
}

template <class Key>
__global__ void __launch_bounds__(search_threads) search_chunks(searched_rows<Key> s) {
  __shared__ found_candidates<Key> found;
  const std::int64_t row = blockIdx.x / s.chunks;
  const std::int64_t begin = blockIdx.x % s.chunks * s.chunk_length;
  const std::int64_t end = min(begin + s.chunk_length, s.r.x.length);
  const element_loader<Key> load{s.r.x.row(row), s.r.x.step, begin, end, s.r.x.bytes, s.order};
  const int count = find_first(found, end - begin, s.k, load);
  if (s.of_chunks == nullptr) return store_found(s, row, found);
  candidate<Key>* const to = s.of_chunks + static_cast<std::int64_t>(blockIdx.x) * s.k;
  for (int i = static_cast<int>(threadIdx.x); i < s.k; i += static_cast<int>(blockDim.x))
    to[i] = i < count ? found.all[i] : candidate<Key>::none();
}

template <class Key>
__global__ void __launch_bounds__(search_threads) merge_chunks(searched_rows<Key> s) {
  __shared__ found_candidates<Key> found;
  const std::int64_t count = s.chunks * s.k;
  const candidate<Key>* const from = s.of_chunks + blockIdx.x * count;
  find_first(found, count, s.k, [&](std::int64_t first, candidate<Key>(&own)[thread_candidates]) {
#pragma unroll
    for (int e = 0; e < thread_candidates; ++e) {
      const std::int64_t i = first + e * static_cast<int>(blockDim.x) + threadIdx.x;
      own[e] = i < count ? from[i] : candidate<Key>::none();
    }
  });
  store_found(s, blockIdx.x, found);
}

/// Fewer threads for few candidates: they wait for each other less.
unsigned threads_for(std::int64_t count) {
  unsigned threads = 64;
  while (threads < search_threads && threads * thread_candidates < count)
    threads *= 2;
  return threads;
}

template <class Key>
result<void> enqueue_blocks(const row_search& r, lane& where) {
  constexpr std::int64_t per_multiprocessor = 4;
  constexpr std::int64_t least_chunk = 8 * search_room;
  const std::int64_t n = r.x.length;
  const std::int64_t k = r.found.length;
  const std::int64_t rows = r.x.count();
  const std::int64_t wanted = where.multiprocessors() * per_multiprocessor / rows;
  const std::int64_t length =
      (n - 1) / std::clamp<std::int64_t>(
                    wanted, 1, std::max<std::int64_t>(n / std::max(least_chunk, 16 * k), 1)) +
      1;
  const std::int64_t chunks = (n - 1) / length + 1;
  searched_rows<Key> s{.r = r,
                       .order = sorting_order<Key>(r.x.type, r.descending),
                       .k = static_cast<int>(k),
                       .chunks = chunks,
                       .chunk_length = length,
                       .of_chunks = nullptr};
  if (chunks == 1) return launch(search_chunks<Key>, rows, threads_for(n), where.stream(), s);
  call_frame c(where);
  const auto of_chunks = c.array<candidate<Key>>(rows * chunks * k);
  TRY(c.begin());
  s.of_chunks = of_chunks;
  TRY(launch(search_chunks<Key>, rows * chunks, search_threads, where.stream(), s));
  return launch(merge_chunks<Key>, rows, threads_for(chunks * k), where.stream(), s);
}

}  // namespace

bool fits_blocks(const row_search& r) noexcept {
  return r.x.length <= search_room || (r.found.length <= most_searched &&
                                       r.x.length <= std::numeric_limits<std::int32_t>::max());
}

result<void> enqueue_by_blocks(const row_search& r, lane& where) {
  // Narrower keys are as fast as those of 4 bytes.
  return r.x.bytes == 8 ? enqueue_blocks<std::uint64_t>(r, where)
                        : enqueue_blocks<std::uint32_t>(r, where);
}

}  // namespace troupe::cuda
