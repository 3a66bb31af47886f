#pragma once

#include "libraries/sparse/cuda/kernels/balanced_rows.cuh"
#include "libraries/sparse/cuda/kernels/dense.cuh"
#include "libraries/sparse/cuda/kernels/report.cuh"

#include <climits>
#include <cstdint>

/// Products of balanced rows and dense matrices. Additions have a fixed order. Of a row that lies
/// in several tiles, each tile keeps what it has, and `finish_long_rows` adds that up.
namespace troupe::cuda {

template <class I, class D>
struct balanced_product {
  using work = work_of<D>;

  balanced_rows<I> a;
  const D* values;
  dense_operand<const D> in;
  dense_operand<D> out;
  device_update<D> finish;
  work* heads;    ///< [tiles, columns]: of a row that began in an earlier tile and ends in this one
  work* carries;  ///< [tiles, columns]: of a row that ends in a later tile
  bool conjugated;

  [[nodiscard]] __device__ work stored(D value) const {
    const work v = widened(value);
    return conjugated ? conjugate_of(v) : v;
  }
  /// Takes the whole of a tile's part of row `row` of those that end in it.
  __device__ void end_row(const row_tile& tile, int row, std::int64_t column, work sum) const {
    if (row == 0 && tile.continues) {
      heads[tile.number * out.columns + column] = sum;
    } else {
      finish(out(tile.first_row + row, column), sum);
    }
  }
};

/// A product with a vector: a thread has `thread_items` consecutive items.
template <class I, class D>
__global__ void __launch_bounds__(tile_threads) multiply_vector(const balanced_product<I, D> p) {
  using work = work_of<D>;
  __shared__ int ends[tile_items];
  __shared__ work products[tile_items];
  __shared__ handed_on<work> handed;
  if (p.a.is_faulty()) return;
  const row_tile tile = p.a.tile_at(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);

  load_ends(p.a, tile, ends);
  // All loads of one kind before any that needs them, so that they are under way at once.
  I indices[thread_items];
  D values[thread_items];
  work factors[thread_items];
#pragma unroll
  for (int n = 0; n < thread_items; ++n) {
    const int slot = thread + n * tile_threads;
    indices[n] = -1;
    if (slot < tile.slots) {
      indices[n] = streamed(p.a.indices + tile.first_slot + slot);
      values[n] = streamed(p.values + tile.first_slot + slot);
    }
  }
#pragma unroll
  for (int n = 0; n < thread_items; ++n) {
    factors[n] = work{};
    if (is_inside(indices[n], p.a.columns)) factors[n] = widened(p.in(indices[n]));
  }
#pragma unroll
  for (int n = 0; n < thread_items; ++n) {
    const int slot = thread + n * tile_threads;
    if (slot < tile.slots) {
      products[slot] = p.stored(values[n]) * factors[n];
      p.a.note_place(tile.first_slot + slot, indices[n]);
    }
  }
  __syncthreads();

  const int first_item = thread * thread_items;
  const int first_row = rows_before(ends, tile.rows, first_item);
  int row = first_row;
  int slot = first_item - row;
  work sum{};
  work first_sum{};
#pragma unroll
  for (int n = 0; n < thread_items; ++n) {
    if (first_item + n >= tile.items()) break;
    if (row < tile.rows && ends[row] == slot) {
      if (row == first_row) {
        first_sum = sum;
      } else {
        p.end_row(tile, row, 0, sum);
      }
      sum = work{};
      ++row;
    } else {
      sum = sum + products[slot];
      ++slot;
    }
  }
  const bool ended = row > first_row;
  const work front = sum_in_front(sum, ended, handed);
  if (ended) p.end_row(tile, first_row, 0, front + first_sum);
  if (thread == tile_threads - 1) p.carries[tile.number] = ended ? sum : front + sum;
}

/// A product with a matrix: a warp has `warp_items` consecutive items, and `Width` columns of each
/// of its threads. `chunks`: how many blocks share the columns of a tile.
template <int Width, class I, class D>
__global__ void __launch_bounds__(tile_threads)
    multiply_columns(const balanced_product<I, D> p, std::int64_t chunks) {
  using work = work_of<D>;
  constexpr int block_columns = warp_lanes * Width;
  constexpr int ahead = 8;  // rows of the factor that are under way at once
  __shared__ int ends[tile_items];
  __shared__ work heads[tile_warps][block_columns];
  __shared__ work carries[tile_warps][block_columns];
  __shared__ int first_rows[tile_warps];
  __shared__ bool ended[tile_warps];
  if (p.a.is_faulty()) return;
  const row_tile tile = p.a.tile_at(blockIdx.x / chunks);
  const std::int64_t first_column = blockIdx.x % chunks * block_columns;
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
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
  work sums[Width] = {};
  const auto column_of = [&](int c) { return first_column + lane + c * warp_lanes; };
  const auto end_row = [&] {
#pragma unroll
    for (int c = 0; c < Width; ++c) {
      if (row == first_row) {
        heads[warp][lane + c * warp_lanes] = sums[c];
      } else if (column_of(c) < p.out.columns) {
        p.end_row(tile, row, column_of(c), sums[c]);
      }
      sums[c] = work{};
    }
    ++row;
    next_end = row < row_end ? ends[row] : INT_MAX;
  };
  for (int base = begin - first_row; base < slot_end; base += warp_lanes) {
    std::int64_t index = -1;
    work value{};
    if (base + lane < slot_end) {
      const std::int64_t slot = tile.first_slot + base + lane;
      index = streamed(p.a.indices + slot);
      value = p.stored(streamed(p.values + slot));
      p.a.note_place(slot, index);
    }
    for (int group = 0; group < warp_lanes && base + group < slot_end; group += ahead) {
      work factors[ahead][Width];
#pragma unroll
      for (int n = 0; n < ahead; ++n) {
        const std::int64_t from = __shfl_sync(~0u, index, group + n);
#pragma unroll
        for (int c = 0; c < Width; ++c) {
          factors[n][c] = work{};
          if (is_inside(from, p.a.columns) && column_of(c) < p.out.columns)
            factors[n][c] = widened(p.in(from, column_of(c)));
        }
      }
#pragma unroll
      for (int n = 0; n < ahead; ++n) {
        const work v = from_lane(value, group + n);
        if (base + group + n >= slot_end) break;
        while (next_end == base + group + n)
          end_row();
#pragma unroll
        for (int c = 0; c < Width; ++c)
          sums[c] = sums[c] + v * factors[n][c];
      }
    }
  }
  while (row < row_end)
    end_row();
#pragma unroll
  for (int c = 0; c < Width; ++c)
    carries[warp][lane + c * warp_lanes] = sums[c];
  if (lane == 0) {
    first_rows[warp] = first_row;
    ended[warp] = row_end > first_row;
  }
  __syncthreads();

  // What lies in several warps of the tile.
  for (int c = static_cast<int>(threadIdx.x); c < block_columns; c += tile_threads) {
    const std::int64_t column = first_column + c;
    if (column >= p.out.columns) break;
    work sum{};
    for (int w = 0; w < tile_warps; ++w) {
      if (ended[w]) {
        p.end_row(tile, first_rows[w], column, sum + heads[w][c]);
        sum = work{};
      }
      sum = sum + carries[w][c];
    }
    p.carries[tile.number * p.out.columns + column] = sum;
  }
}

/// Adds up rows that lie in several tiles, a warp for each tile in which one begins, and fails the
/// request if a fault is noted. `lanes` threads, a power of two, have a column each; the others
/// share their tiles.
template <class I, class D>
__global__ void __launch_bounds__(tile_threads)
    finish_long_rows(const balanced_product<I, D> p, std::int64_t chunks, int lanes,
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
