#include "backend/cuda/context/call_frame.hpp"
#include "libraries/primitives/cuda/cub_call.hpp"
#include "libraries/primitives/cuda/kernels/grid.cuh"
#include "libraries/primitives/cuda/kernels/numbers.cuh"
#include "libraries/primitives/cuda/kernels/warps.cuh"
#include "libraries/primitives/cuda/scans.hpp"
#include "libraries/primitives/shared/combiner.hpp"
#include "libraries/primitives/shared/tensor_rows.hpp"

// Three kernels: the total of each tile; the sum before each tile; the scan of each tile. The order
// of additions depends on the length only.
namespace troupe::cuda {
namespace {

using primitives::combiner;

constexpr int per_thread = 8;
constexpr int tile_elements = block_threads * per_thread;

template <class Accumulator>
struct scanned {
  number_source<Accumulator> source;
  number_sink<Accumulator> sink;
  combiner<Accumulator> combine;
  std::int64_t count;
  bool exclusive;
};

/// Combines the numbers of all threads before this one in the block; `total` is that of the whole
/// block.
template <class Accumulator>
__device__ Accumulator combined_before(Accumulator own, const combiner<Accumulator>& combine,
                                       Accumulator& total) {
  __shared__ Accumulator of_warps[block_warps];
  const int lane = static_cast<int>(threadIdx.x) % warp_threads;
  const int warp = static_cast<int>(threadIdx.x) / warp_threads;
  Accumulator up_to = own;
#pragma unroll
  for (int lanes = 1; lanes < warp_threads; lanes *= 2) {
    const Accumulator before = __shfl_up_sync(every_lane, up_to, lanes);
    if (lane >= lanes) up_to = combine(before, up_to);
  }
  if (lane == warp_threads - 1) of_warps[warp] = up_to;
  __syncthreads();
  Accumulator before_warp = combine.identity();
  total = combine.identity();
  for (int w = 0; w < block_warps; ++w) {
    if (w == warp) before_warp = total;
    total = combine(total, of_warps[w]);
  }
  __syncthreads();  // the caller may call it again
  const Accumulator before = __shfl_up_sync(every_lane, up_to, 1);
  return lane == 0 ? before_warp : combine(before_warp, before);
}

template <class Accumulator>
__global__ void __launch_bounds__(block_threads)
    add_up_tiles(scanned<Accumulator> s, Accumulator* totals) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * tile_elements;
  Accumulator value = s.combine.identity();
#pragma unroll
  for (int e = 0; e < per_thread; ++e) {
    const std::int64_t i = first + e * block_threads + threadIdx.x;
    if (i < s.count) value = s.combine(value, s.source(i));
  }
  value = combine_block(value, s.combine.identity(), s.combine);
  if (threadIdx.x == 0) totals[blockIdx.x] = value;
}

/// totals[i] = totals[0] ∘ … ∘ totals[i − 1], by one block.
template <class Accumulator>
__global__ void __launch_bounds__(block_threads)
    scan_totals(Accumulator* totals, std::int64_t tiles, combiner<Accumulator> combine) {
  Accumulator carry = combine.identity();
  for (std::int64_t first = 0; first < tiles; first += tile_elements) {
    const std::int64_t own_first = first + static_cast<std::int64_t>(threadIdx.x) * per_thread;
    Accumulator own[per_thread];
    Accumulator of_thread = combine.identity();
#pragma unroll
    for (int e = 0; e < per_thread; ++e) {
      own[e] = own_first + e < tiles ? totals[own_first + e] : combine.identity();
      of_thread = combine(of_thread, own[e]);
    }
    Accumulator of_all;
    Accumulator before = combine(carry, combined_before(of_thread, combine, of_all));
#pragma unroll
    for (int e = 0; e < per_thread; ++e) {
      if (own_first + e < tiles) totals[own_first + e] = before;
      before = combine(before, own[e]);
    }
    carry = combine(carry, of_all);
  }
}

/// Scans the tile from `first` on, after `before` of everything before it. \returns what the tile's
/// elements combine to
template <class Accumulator>
__device__ Accumulator scan_tile(const scanned<Accumulator>& s, std::int64_t first,
                                 Accumulator before) {
  // Threads load and store neighbouring numbers, and scan consecutive ones. The padding avoids bank
  // conflicts.
  constexpr int row = per_thread + 1;
  __shared__ Accumulator tile[block_threads * row];
  const auto place = [](int i) { return i / per_thread * row + i % per_thread; };
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int e = 0; e < per_thread; ++e) {
    const int i = e * block_threads + thread;
    tile[place(i)] = first + i < s.count ? s.source(first + i) : s.combine.identity();
  }
  __syncthreads();
  Accumulator own[per_thread];
  Accumulator of_thread = s.combine.identity();
#pragma unroll
  for (int e = 0; e < per_thread; ++e) {
    own[e] = tile[thread * row + e];
    of_thread = s.combine(of_thread, own[e]);
  }
  Accumulator of_all;
  before = s.combine(before, combined_before(of_thread, s.combine, of_all));
#pragma unroll
  for (int e = 0; e < per_thread; ++e) {
    const Accumulator up_to = s.combine(before, own[e]);
    tile[thread * row + e] = s.exclusive ? before : up_to;
    before = up_to;
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < per_thread; ++e) {
    const int i = e * block_threads + thread;
    if (first + i < s.count) s.sink.store(first + i, tile[place(i)]);
  }
  __syncthreads();  // the caller may call it again
  return of_all;
}

template <class Accumulator>
__global__ void __launch_bounds__(block_threads)
    scan_tiles(scanned<Accumulator> s, const Accumulator* before_tiles) {
  scan_tile(s, static_cast<std::int64_t>(blockIdx.x) * tile_elements,
            before_tiles == nullptr ? s.combine.identity() : before_tiles[blockIdx.x]);
}

/// The places of rows in x and y, in elements from the first row.
struct scanned_rows {
  elementwise::flat_view x;
  elementwise::flat_view y;

  template <class Accumulator>
  __device__ void move_to(std::int64_t row, scanned<Accumulator>& s) const {
    s.source.move(x.offset(row));
    s.sink.move(y.offset(row));
  }
};

/// Scans a row by each block, tile after tile.
template <class Accumulator>
__global__ void __launch_bounds__(block_threads)
    scan_by_blocks(scanned<Accumulator> s, scanned_rows rows) {
  rows.move_to(blockIdx.x, s);
  Accumulator before = s.combine.identity();
  for (std::int64_t first = 0; first < s.count; first += tile_elements)
    before = s.combine(before, scan_tile(s, first, before));
}

/// Scans a row by each thread.
template <class Accumulator>
__global__ void __launch_bounds__(block_threads)
    scan_by_threads(scanned<Accumulator> s, scanned_rows rows) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (row >= rows.x.count) return;
  rows.move_to(row, s);
  Accumulator sum = s.combine.identity();
  for (std::int64_t i = 0; i < s.count; ++i) {
    const Accumulator next = s.combine(sum, s.source(i));
    s.sink.store(i, s.exclusive ? sum : next);
    sum = next;
  }
}

template <class Accumulator>
scanned<Accumulator> first_row(const primitives::scan& r, const any_tensor& x,
                               const any_tensor& y) {
  return {.source = number_source<Accumulator>(x, r.op),
          .sink = number_sink<Accumulator>(y, x.type(), r.op),
          .combine = combiner<Accumulator>{r.op},
          .count = x.extent(0),
          .exclusive = r.exclusive};
}

template <class Accumulator>
result<void> enqueue(const primitives::scan& r, lane& where) {
  const std::int64_t tiles = (r.x.extent(0) - 1) / tile_elements + 1;
  const auto all = first_row<Accumulator>(r, r.x, r.y);
  const Accumulator* before_tiles = nullptr;
  if (tiles > 1) {
    call_frame c(where);
    const auto totals = c.array<Accumulator>(tiles);
    TRY(c.begin());
    TRY(launch(add_up_tiles<Accumulator>, tiles, block_threads, where.stream(), all, totals));
    TRY(launch(scan_totals<Accumulator>, 1, block_threads, where.stream(), totals, tiles,
               all.combine));
    before_tiles = totals;
  }
  return launch(scan_tiles<Accumulator>, tiles, block_threads, where.stream(), all, before_tiles);
}

}  // namespace

result<void> enqueue_fixed_scan(const primitives::scan& r, lane& where) {
  return with_accumulator(r.x.type(), r.op, [&]<class Accumulator>(Accumulator) {
    return enqueue<Accumulator>(r, where);
  });
}

result<void> enqueue_row_scan(const primitives::scan& r, lane& where) {
  const primitives::tensor_rows x(r.x, r.axis);
  const primitives::tensor_rows y(r.y, r.axis);
  const scanned_rows rows{x.begins, y.begins};
  // Threads of a warp go along neighbouring rows, which suits short ones, and long ones whose
  // neighbours are nearer than the elements of a row.
  constexpr std::int64_t short_row = 64;
  constexpr std::int64_t many_rows = 4096;
  const bool by_threads = x.length <= short_row || (x.step > 1 && x.count() >= many_rows);
  return with_accumulator(r.x.type(), r.op, [&]<class Accumulator>(Accumulator) {
    const auto first = first_row<Accumulator>(r, x.view(0), y.view(0));
    return by_threads ? launch(scan_by_threads<Accumulator>, (x.count() - 1) / block_threads + 1,
                               block_threads, where.stream(), first, rows)
                      : launch(scan_by_blocks<Accumulator>, x.count(), block_threads,
                               where.stream(), first, rows);
  });
}

}  // namespace troupe::cuda
