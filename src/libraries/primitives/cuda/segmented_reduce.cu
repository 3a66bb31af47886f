#include "backend/cuda/context/call_frame.hpp"
#include "libraries/primitives/cuda/kernels/first_wrong.cuh"
#include "libraries/primitives/cuda/kernels/offsets.cuh"
#include "libraries/primitives/cuda/kernels/reduce.cuh"
#include "libraries/primitives/cuda/reductions.hpp"
#include "libraries/primitives/shared/combiner.hpp"

#include <algorithm>

namespace troupe::cuda {
namespace {

/// Each segment is combined by `Threads` threads, a warp or a block, in an order that depends on
/// its length only.
template <int Threads, class Accumulator>
__global__ void __launch_bounds__(block_threads)
    reduce_segments(number_source<Accumulator> source, segment_offsets offsets,
                    primitives::combiner<Accumulator> combine, number_sink<Accumulator> sink) {
  const int lane = static_cast<int>(threadIdx.x) % Threads;
  constexpr std::int64_t per_block = block_threads / Threads;
  const std::int64_t first = blockIdx.x * per_block + threadIdx.x / Threads;
  for (std::int64_t segment = first; segment < offsets.segments();
       segment += gridDim.x * per_block) {
    const std::int64_t end = offsets.end(segment);
    Accumulator value = combine.identity();
    for (std::int64_t i = offsets.begin(segment) + lane; i < end; i += Threads)
      value = combine(value, source(i));
    if constexpr (Threads == warp_threads) {
      value = combine_warp(value, combine);
    } else {
      value = combine_block(value, combine.identity(), combine);
    }
    if (lane == 0) sink.store(segment, value);
  }
}

template <int Threads, class Accumulator>
result<void> enqueue(const primitives::segmented_reduce& r, const segment_offsets& offsets,
                     const lane& where) {
  constexpr std::int64_t per_block = block_threads / Threads;
  constexpr std::int64_t most_blocks = 1 << 20;
  const std::int64_t blocks = std::min((offsets.segments() - 1) / per_block + 1, most_blocks);
  return launch(reduce_segments<Threads, Accumulator>, blocks, block_threads, where.stream(),
                number_source<Accumulator>(r.x, r.op), offsets,
                primitives::combiner<Accumulator>{r.op},
                number_sink<Accumulator>(r.y, r.x.type(), r.op));
}

}  // namespace

result<void> enqueue_segmented_reduce(const primitives::segmented_reduce& r, lane& where,
                                      late_failure failure) {
  const segment_offsets offsets(r.offsets, r.x.extent(0));
  call_frame c(where);
  const auto first_wrong = c.array<unsigned long long>(1);
  TRY(c.begin());
  if (offsets.segments() > 0) {
    // If segments are short on average, each gets a warp.
    constexpr std::int64_t long_segment = 1024;
    const bool are_long = r.x.extent(0) / offsets.segments() >= long_segment;
    TRY(with_accumulator(r.x.type(), r.op, [&]<class Accumulator>(Accumulator) {
      return are_long ? enqueue<block_threads, Accumulator>(r, offsets, where)
                      : enqueue<warp_threads, Accumulator>(r, offsets, where);
    }));
  }
  return enqueue_check(offsets, first_wrong, failure, where.stream());
}

}  // namespace troupe::cuda
