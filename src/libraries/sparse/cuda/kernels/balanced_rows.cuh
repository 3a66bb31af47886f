#pragma once

#include "libraries/sparse/cuda/kernels/grid.cuh"
#include "libraries/sparse/cuda/kernels/values.cuh"
#include "libraries/sparse/cuda/pattern_check.hpp"

#include <cstdint>
#include <type_traits>

/// Distributes csr rows so that each block has the same number of elements plus row ends, however
/// long rows are. Elements and ends are items of one list: the elements of a row, then its end.
/// Source: D. Merrill, M. Garland, "Merge-based parallel sparse matrix-vector multiplication",
/// 2016.
namespace troupe::cuda {

inline constexpr int warp_lanes = 32;
inline constexpr int tile_threads = 256;
inline constexpr int tile_warps = tile_threads / warp_lanes;
inline constexpr int thread_items = 7;  // odd, so that neighbours read different banks
inline constexpr int warp_items = warp_lanes * thread_items;
inline constexpr int tile_items = tile_threads * thread_items;

/// The items of a block.
struct row_tile {
  std::int64_t number;
  std::int64_t first_row;
  std::int64_t first_slot;
  int rows;        ///< rows that end in it
  int slots;       ///< elements
  bool continues;  ///< its first row has elements in an earlier tile

  [[nodiscard]] __device__ int items() const { return rows + slots; }
};

template <class I>
struct balanced_rows {
  const I* offsets;
  const I* indices;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t slots;
  std::int64_t* first_rows;  ///< the row of each tile's first item
  unsigned long long* first_fault;

  [[nodiscard]] constexpr std::int64_t items() const { return rows + slots; }
  [[nodiscard]] constexpr std::int64_t tiles() const { return (items() - 1) / tile_items + 1; }
  /// The row of the first item behind a tile, or `rows`.
  [[nodiscard]] __device__ std::int64_t row_behind(std::int64_t tile) const {
    return tile + 1 < tiles() ? first_rows[tile + 1] : rows;
  }
  [[nodiscard]] __device__ row_tile tile_at(std::int64_t number) const {
    const std::int64_t begin = number * tile_items;
    const std::int64_t end = begin + tile_items < items() ? begin + tile_items : items();
    const std::int64_t row = first_rows[number];
    const std::int64_t row_end = row_behind(number);
    return {.number = number,
            .first_row = row,
            .first_slot = begin - row,
            .rows = static_cast<int>(row_end - row),
            .slots = static_cast<int>((end - row_end) - (begin - row)),
            .continues = offsets[row] < begin - row};
  }
  [[nodiscard]] __device__ bool is_faulty() const {
    return *first_fault != static_cast<unsigned long long>(no_fault);
  }
  [[nodiscard]] __device__ bool has_place(I index) const {
    return static_cast<std::make_unsigned_t<I>>(index) <
           static_cast<std::make_unsigned_t<I>>(columns);
  }
  /// Notes the element as a fault if it is out of range.
  __device__ void note_place(std::int64_t slot) const {
    if (!has_place(indices[slot]))
      atomicMin(first_fault, static_cast<unsigned long long>(rows + 1 + slot));
  }
};

/// Checks offset i, and finds the tiles that begin in row i. Precondition: no fault is noted.
template <class I>
__global__ void divide_rows(balanced_rows<I> a, sparse::pattern_checks checks) {
  const std::int64_t i = thread_number();
  if (i > a.rows) return;
  if (checks.check(i).what != sparse::pattern_fault::kind::none) {
    atomicMin(a.first_fault, static_cast<unsigned long long>(i));
    return;
  }
  if (i == a.rows) return;
  const std::int64_t first = static_cast<std::int64_t>(a.offsets[i]) + i;
  const std::int64_t last = static_cast<std::int64_t>(a.offsets[i + 1]) + i;
  if (first < 0 || last >= a.items()) return;  // the check of another offset fails
  for (std::int64_t t = (first + tile_items - 1) / tile_items; t * tile_items <= last; ++t)
    a.first_rows[t] = i;
}

/// The number of a tile's rows that end before one of its items. `ends` are those of its rows,
/// counted in elements of the tile.
__device__ inline int rows_before(const int* ends, int rows, int item) {
  int low = 0;
  int high = item < rows ? item : rows;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (ends[middle] + middle < item) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

template <class I>
__device__ void load_ends(const balanced_rows<I>& a, const row_tile& tile, int* ends) {
  for (int i = static_cast<int>(threadIdx.x); i < tile.rows; i += tile_threads)
    ends[i] = static_cast<int>(a.offsets[tile.first_row + i + 1] - tile.first_slot);
}

/// The values that each warp of a block passes to the next ones.
template <class W>
struct handed_on {
  W sums[tile_warps];
  bool ended[tile_warps];
};

/// The sum that earlier threads have for the row in which this thread begins. `sum` is this
/// thread's part of the row in which it stops; `ended` is true if that is another row. The order of
/// additions is fixed. Every thread of the block must call it.
template <class W>
__device__ W sum_in_front(W sum, bool ended, handed_on<W>& handed) {
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
  const unsigned ends = __ballot_sync(~0u, ended);
  const unsigned to_here = ends & (~0u >> (warp_lanes - 1 - lane));
  const int start = to_here == 0 ? 0 : warp_lanes - 1 - __clz(static_cast<int>(to_here));
  for (int step = 1; step < warp_lanes; step *= 2) {
    const W other = from_lane_below(sum, step);
    if (lane - step >= start) sum = other + sum;
  }
  if (lane == warp_lanes - 1) {
    handed.sums[warp] = sum;
    handed.ended[warp] = ends != 0;
  }
  __syncthreads();
  const W below = from_lane_below(sum, 1);
  W front = lane == 0 ? W{} : below;
  if ((to_here & ~(1u << lane)) != 0) return front;
  W of_warps{};
  for (int w = warp - 1; w >= 0; --w) {
    of_warps = handed.sums[w] + of_warps;
    if (handed.ended[w]) break;
  }
  return of_warps + front;
}

}  // namespace troupe::cuda
