#pragma once

#include "libraries/sparse/cuda/kernels/balanced_rows.cuh"
#include "libraries/sparse/cuda/kernels/dense.cuh"
#include "libraries/sparse/cuda/kernels/report.cuh"

#include <climits>
#include <cstdint>

/// Products of balanced rows and dense matrices. Additions have a fixed order. If a row lies in
/// several tiles, each tile stores its part, and `finish_long_rows` adds up the parts.
namespace troupe::cuda {

/// Blocks that should fit on a multiprocessor, so that enough loads are in flight.
template <class W>
inline constexpr unsigned blocks_at_once = sizeof(W) == 16  ? 3
                                           : sizeof(W) == 8 ? 4
                                                            : 5;

/// `Offset` counts elements of the dense factor.
template <class Offset, class I, class D>
struct balanced_product {
  using work = work_of<D>;

  balanced_rows<I> a;
  const D* values;
  dense_operand<const D> in;
  dense_operand<D> out;
  device_update<D> finish;
  work* heads;    ///< [tiles, columns]: the end of a row that began in an earlier tile
  work* carries;  ///< [tiles, columns]: the part of a row that ends in a later tile
  bool conjugated;

  [[nodiscard]] __device__ work stored(D value) const {
    const work v = widened(value);
    return conjugated ? conjugate_of(v) : v;
  }
  /// The offset of the factor's row from its first one.
  [[nodiscard]] __device__ Offset offset_of(I index) const {
    return static_cast<Offset>(index) * static_cast<Offset>(in.row_stride);
  }
  /// Stores the tile's sum for row `row`, counted among the rows that end in the tile.
  __device__ void end_row(const row_tile& tile, int row, std::int64_t column, work sum) const {
    if (row == 0 && tile.continues) {
      heads[tile.number * out.columns + column] = sum;
    } else {
      finish(out(tile.first_row + row, column), sum);
    }
  }
};

/// A product with a vector: a thread has `thread_items` consecutive items.
template <class Offset, class I, class D>
__global__ void __launch_bounds__(tile_threads, blocks_at_once<work_of<D>>)
    multiply_vector(const balanced_product<Offset, I, D> p) {
  using work = work_of<D>;
  __shared__ int ends[tile_items];
  __shared__ work products[tile_items];
  __shared__ handed_on<work> handed;
  if (p.a.is_faulty()) return;
  const row_tile tile = p.a.tile_at(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);

  // Issue all independent loads before any that depends on them, so that they overlap.
  const I* const tile_indices = p.a.indices + tile.first_slot + thread;
  const D* const tile_values = p.values + tile.first_slot + thread;
  I indices[thread_items];
  D values[thread_items];
  work factors[thread_items];
#pragma unroll
  for (int n = 0; n < thread_items; ++n) {
    indices[n] = -1;
    if (thread + n * tile_threads < tile.slots) {
      indices[n] = streamed(tile_indices + n * tile_threads);
      values[n] = streamed(tile_values + n * tile_threads);
    }
  }
  load_ends(p.a, tile, ends);
#pragma unroll
  for (int n = 0; n < thread_items; ++n) {
    factors[n] = work{};
    if (p.a.has_place(indices[n])) factors[n] = widened(p.in.first[p.offset_of(indices[n])]);
  }
  bool good = true;
#pragma unroll
  for (int n = 0; n < thread_items; ++n) {
    if (thread + n * tile_threads < tile.slots) {
      products[thread + n * tile_threads] = p.stored(values[n]) * factors[n];
      good = good && p.a.has_place(indices[n]);
    }
  }
  if (!good) {
    for (int slot = thread; slot < tile.slots; slot += tile_threads)
      p.a.note_place(tile.first_slot + slot);
  }
  __syncthreads();

  // Avoid branches: the ends of rows differ between the threads of a warp.
  const int first_item = thread * thread_items;
  const int first_row = rows_before(ends, tile.rows, first_item);
  int row = first_row;
  int slot = first_item - row;
  unsigned ended = 0;
  work sum{};
  work row_sums[thread_items];
#pragma unroll
  for (int n = 0; n < thread_items; ++n) {
    const bool ends_row = row < tile.rows && ends[row] == slot;
    const bool takes = !ends_row && slot < tile.slots;
    row_sums[n] = sum;
    ended |= (ends_row ? 1u : 0u) << n;
    if (ends_row) sum = work{};
    if (takes) sum = sum + products[slot];
    row += ends_row ? 1 : 0;
    slot += takes ? 1 : 0;
  }
  work front = sum_in_front(sum, ended != 0, handed);
  if (thread == tile_threads - 1) p.carries[tile.number] = ended != 0 ? sum : front + sum;
  // All products have been read. The sums of rows replace them, so that stores are coalesced.
  row = first_row;
#pragma unroll
  for (int n = 0; n < thread_items; ++n) {
    if ((ended >> n & 1) == 0) continue;
    products[row] = front + row_sums[n];
    front = work{};
    ++row;
  }
  __syncthreads();
  for (int i = thread; i < tile.rows; i += tile_threads)
    p.end_row(tile, i, 0, products[i]);
}

/// A product with a matrix: a warp has `warp_items` consecutive items, and each of its threads a
/// column. `chunks`: the number of blocks that share the columns of a tile.
template <class Offset, class I, class D>
__global__ void __launch_bounds__(tile_threads, blocks_at_once<work_of<D>>)
    multiply_columns(const balanced_product<Offset, I, D> p, std::int64_t chunks) {
  using work = work_of<D>;
  constexpr int ahead = 4;  // rows of the factor whose loads overlap
  __shared__ int ends[tile_items];
  __shared__ work heads[tile_warps][warp_lanes];
  __shared__ work carries[tile_warps][warp_lanes];
  __shared__ int first_rows[tile_warps];
  __shared__ bool ended[tile_warps];
  if (p.a.is_faulty()) return;
  const row_tile tile = p.a.tile_at(blockIdx.x / chunks);
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
  const std::int64_t column = blockIdx.x % chunks * warp_lanes + lane;
  const bool has_column = column < p.out.columns;
  const D* const in_column = p.in.first + (has_column ? column : 0) * p.in.column_stride;
  load_ends(p.a, tile, ends);
  __syncthreads();

  const int items = tile.items();
  const int begin = min(warp * warp_items, items);
  const int end = min(begin + warp_items, items);
  const int first_row = rows_before(ends, tile.rows, begin);
  const int row_end = rows_before(ends, tile.rows, end);
  const int slot_end = end - row_end;
  int row = first_row;
  int next_end = row < row_end ? ends[row] : INT_MAX;
  work sum{};
  const auto end_row = [&] {
    if (row == first_row) {
      heads[warp][lane] = sum;
    } else if (has_column) {
      p.end_row(tile, row, column, sum);
    }
    sum = work{};
    ++row;
    next_end = row < row_end ? ends[row] : INT_MAX;
  };
  for (int base = begin - first_row; base < slot_end; base += warp_lanes) {
    // An element out of range reads only the factor's first row.
    Offset offset = 0;
    work value{};
    const std::int64_t slot = tile.first_slot + base + lane;
    if (base + lane < slot_end) {
      const I index = streamed(p.a.indices + slot);
      value = p.stored(streamed(p.values + slot));
      if (p.a.has_place(index)) {
        offset = p.offset_of(index);
      } else {
        p.a.note_place(slot);
      }
    }
    const int count = min(warp_lanes, slot_end - base);
    for (int group = 0; group < count; group += ahead) {
      work factors[ahead];
#pragma unroll
      for (int n = 0; n < ahead; ++n)
        factors[n] = widened(in_column[__shfl_sync(~0u, offset, group + n)]);
#pragma unroll
      for (int n = 0; n < ahead; ++n) {
        const work v = from_lane(value, group + n);
        if (group + n >= count) break;
        while (next_end == base + group + n)
          end_row();
        sum = sum + v * factors[n];
      }
    }
  }
  while (row < row_end)
    end_row();
  carries[warp][lane] = sum;
  if (lane == 0) {
    first_rows[warp] = first_row;
    ended[warp] = row_end > first_row;
  }
  __syncthreads();

  // Rows that lie in several warps of the tile.
  if (warp != 0 || !has_column) return;
  sum = work{};
  for (int w = 0; w < tile_warps; ++w) {
    if (ended[w]) {
      p.end_row(tile, first_rows[w], column, sum + heads[w][lane]);
      sum = work{};
    }
    sum = sum + carries[w][lane];
  }
  p.carries[tile.number * p.out.columns + column] = sum;
}

/// Adds up rows that lie in several tiles, one warp per tile in which a row begins, and fails the
/// request if a fault is noted. `lanes` threads, a power of two, have a column each; the others
/// take further tiles of the row.
template <class Offset, class I, class D>
__global__ void __launch_bounds__(tile_threads)
    finish_long_rows(const balanced_product<Offset, I, D> p, std::int64_t chunks, int lanes,
                     pattern_report report, late_failure failure) {
  if (p.a.is_faulty()) {
    if (thread_number() == 0) (void)report.write(failure);
    return;
  }
  const std::int64_t number = thread_number() / warp_lanes;
  const std::int64_t tile = number / chunks;
  if (tile >= p.a.tiles()) return;
  const std::int64_t row = p.a.row_behind(tile);
  if (row >= p.a.rows || (p.a.offsets[row] + row) / tile_items != tile) return;
  const std::int64_t last = (p.a.offsets[row + 1] + row) / tile_items;
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const std::int64_t columns = p.out.columns;
  const std::int64_t column = number % chunks * lanes + lane % lanes;
  work_of<D> sum{};
  if (column < columns) {
#pragma unroll 8
    for (std::int64_t t = tile + lane / lanes; t < last; t += warp_lanes / lanes)
      sum = sum + p.carries[t * columns + column];
  }
  for (int step = warp_lanes / 2; step >= lanes; step /= 2)
    sum = sum + from_lane_above(sum, step);
  if (lane < lanes && column < columns)
    p.finish(p.out(row, column), sum + p.heads[last * columns + column]);
}

}  // namespace troupe::cuda
