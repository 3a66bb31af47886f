#pragma once

#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/launch.cuh"
#include "libraries/primitives/cuda/cub_call.hpp"
#include "libraries/primitives/cuda/kernels/answers.cuh"
#include "libraries/primitives/cuda/kernels/grid.cuh"
#include "libraries/primitives/cuda/kernels/warps.cuh"

#include <algorithm>
#include <cstdint>

/// Reductions of a vector in two kernels: each block combines a part, then one block combines the
/// partial results. The order depends on the vector's length and address and on the device only, so
/// that equal requests have equal results.
namespace troupe::cuda {

/// The input of a reduction: elements of `T`, which `widen(element, index)` converts to
/// accumulators.
template <class T, class Accumulator, class Widen, class Combine>
struct reduction {
  const T* first;
  std::int64_t step;
  std::int64_t count;
  std::int64_t vectors;  ///< `vector_elements` each, at the front; the rest is read singly
  Widen widen;
  Combine combine;
  Accumulator identity;
};

/// The elements that a thread loads at once.
template <class T>
struct alignas(16) loaded_vector {
  static constexpr int elements = 16 / sizeof(T);
  T element[elements];
};

template <class T, class Accumulator, class Widen, class Combine>
__global__ void __launch_bounds__(block_threads)
    reduce_parts(reduction<T, Accumulator, Widen, Combine> r, Accumulator* of_blocks) {
  using vector = loaded_vector<T>;
  // Loads in flight per thread. A load has more elements the narrower they are.
  constexpr int at_once = sizeof(T) >= 4 ? 4 : static_cast<int>(sizeof(T));
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * block_threads;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  Accumulator value = r.identity;
  const auto* const vectors = reinterpret_cast<const vector*>(r.first);
  for (std::int64_t i = thread; i < r.vectors; i += at_once * threads) {
    vector loaded[at_once];
#pragma unroll
    for (int v = 0; v < at_once; ++v) {
      if (i + v * threads < r.vectors) loaded[v] = vectors[i + v * threads];
    }
#pragma unroll
    for (int v = 0; v < at_once; ++v) {
      const std::int64_t from = i + v * threads;
      if (from >= r.vectors) break;
      for (int e = 0; e < vector::elements; ++e) {
        value = r.combine(value, r.widen(loaded[v].element[e], from * vector::elements + e));
      }
    }
  }
  for (std::int64_t i = r.vectors * vector::elements + thread; i < r.count; i += threads)
    value = r.combine(value, r.widen(r.first[i * r.step], i));
  value = combine_block(value, r.identity, r.combine);
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = value;
}

template <class Accumulator, class Combine, class Finish>
__global__ void __launch_bounds__(block_threads)
    reduce_blocks(const Accumulator* of_blocks, int blocks, Accumulator identity, Combine combine,
                  Finish finish) {
  Accumulator value = identity;
  for (int i = static_cast<int>(threadIdx.x); i < blocks; i += block_threads)
    value = combine(value, of_blocks[i]);
  value = combine_block(value, identity, combine);
  if (threadIdx.x == 0) finish(value);
}

/// Enqueues the combination of all elements of `x`. One thread passes the result to `finish`.
template <class T, class Accumulator, class Widen, class Combine, class Finish>
[[nodiscard]] result<void> enqueue_reduction(const any_tensor& x, Accumulator identity, Widen widen,
                                             Combine combine, lane& where, Finish finish) {
  constexpr int per_multiprocessor = 8;  // blocks that run at a time
  constexpr std::int64_t thread_share = 16;
  const std::int64_t count = x.extent(0);
  const std::int64_t wanted =
      (count + thread_share * block_threads - 1) / (thread_share * block_threads);
  const int blocks = static_cast<int>(
      std::clamp<std::int64_t>(wanted, 1, where.multiprocessors() * per_multiprocessor));
  call_frame c(where);
  const auto of_blocks = c.array<Accumulator>(blocks);
  TRY(c.begin());

  const bool in_vectors =
      x.stride(0) == 1 &&
      reinterpret_cast<std::uintptr_t>(x.address()) % sizeof(loaded_vector<T>) == 0;
  const reduction<T, Accumulator, Widen, Combine> all{
      .first = reinterpret_cast<const T*>(x.address()),
      .step = x.stride(0),
      .count = count,
      .vectors = in_vectors ? count / loaded_vector<T>::elements : 0,
      .widen = widen,
      .combine = combine,
      .identity = identity};
  TRY(launch(reduce_parts<T, Accumulator, Widen, Combine>, blocks, block_threads, where.stream(),
             all, of_blocks));
  return launch(reduce_blocks<Accumulator, Combine, Finish>, 1, block_threads, where.stream(),
                of_blocks, blocks, identity, combine, finish);
}

}  // namespace troupe::cuda
