#include "backend/cuda/context/late_failure.cuh"
#include "backend/cuda/context/launch.cuh"
#include "base/try.hpp"
#include "libraries/elementwise/cuda/kernels/indexing.hpp"

#include <algorithm>

namespace troupe::cuda {
namespace {

using elementwise::cumulation_rows;
using elementwise::row_change;
using elementwise::row_operands;
using elementwise::sum_type;

using place = unsigned long long;  // the 64-bit type of atomicMin
constexpr place nowhere = ~place{0};
constexpr unsigned threads = 256;
constexpr unsigned checking_threads = 1024;

// A single block, so that no memory needs to be initialized first.
__global__ void __launch_bounds__(checking_threads)
    find_first_bad(row_operands r, place* first_bad) {
  __shared__ place least;
  if (threadIdx.x == 0) least = nowhere;
  __syncthreads();
  for (std::int64_t k = threadIdx.x; k < r.count(); k += checking_threads) {
    if (!r.is_row(r.index(k))) atomicMin(&least, static_cast<place>(k));
  }
  __syncthreads();
  if (threadIdx.x == 0) *first_bad = least;
}

__device__ void tell(const row_operands& r, std::int64_t k, const late_failure& failure) {
  failure.write(errc::invalid_argument, "index number ", k, " is ", r.index(k),
                ", not within 0 and ", r.rows - 1);
}

__global__ void report(row_operands r, const place* first_bad, late_failure failure) {
  if (*first_bad != nowhere) tell(r, static_cast<std::int64_t>(*first_bad), failure);
}

// Few indices are checked by each block, so that one kernel does all: a step of a model looks at a
// few rows of a large table, and three kernels would take longer than the rows.
constexpr std::int64_t most_few_read = 256;
constexpr std::int64_t most_few_changed = 1024;

/// True if an index is out of range; the first block reports the first one. Called by all threads.
__device__ bool has_bad(const row_operands& r, const late_failure& failure) {
  __shared__ place least;
  if (threadIdx.x == 0) least = nowhere;
  __syncthreads();
  for (std::int64_t k = threadIdx.x; k < r.count(); k += threads) {
    if (!r.is_row(r.index(k))) atomicMin(&least, static_cast<place>(k));
  }
  __syncthreads();
  const place first = least;
  if (first == nowhere) return false;
  if (blockIdx.x == 0 && threadIdx.x == 0) tell(r, static_cast<std::int64_t>(first), failure);
  return true;
}

template <class Unit>
__device__ void gather_elements(const row_operands& r) {
  const std::int64_t all = r.count() * r.width;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t flat = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
       flat < all; flat += step) {
    const std::int64_t k = flat / r.width;
    const std::int64_t j = flat % r.width;
    r.of_list<Unit>(k)[j * r.list_step] = r.of_table<Unit>(r.index(k))[j * r.table_step];
  }
}

template <class Unit>
__global__ void __launch_bounds__(threads) gather(row_operands r, const place* first_bad) {
  if (*first_bad == nowhere) gather_elements<Unit>(r);
}
template <class Unit>
__global__ void __launch_bounds__(threads) gather_few(row_operands r, late_failure failure) {
  if (!has_bad(r, failure)) gather_elements<Unit>(r);
}

// One block per row of the list. If indices are equal, the block of the last row stores that row,
// or the block of the first one adds all of them in order; the others do nothing.
template <class T>
__global__ void __launch_bounds__(threads)
    change_few_rows(row_operands r, row_change how, late_failure failure) {
  __shared__ bool matches[most_few_changed];
  if (has_bad(r, failure)) return;
  const std::int64_t mine = blockIdx.x;
  const std::int64_t row = r.index(mine);
  bool is_of_another = false;
  for (std::int64_t k = threadIdx.x; k < r.count(); k += threads) {
    const bool match = r.index(k) == row;
    matches[k] = match;
    if (match && k != mine && (k > mine) == (how == row_change::set)) is_of_another = true;
  }
  if (__syncthreads_or(is_of_another ? 1 : 0) != 0) return;
  T* const to = r.of_table<T>(row);
  const std::int64_t end = how == row_change::set ? mine + 1 : r.count();
  for (std::int64_t j = threadIdx.x; j < r.width; j += threads) {
    sum_type<T> sum{};
    if (how == row_change::add) sum = elementwise::widened(to[j * r.table_step]);
    for (std::int64_t k = mine; k < end; ++k) {
      if (!matches[k]) continue;
      const auto x = elementwise::widened(r.of_list<T>(k)[j * r.list_step]);
      sum = how == row_change::set ? x : sum + x;
    }
    to[j * r.table_step] = elementwise::narrowed_sum<T>(sum);
  }
}

constexpr int columns_each = 8;

// One block per row of the table, so that rows of the list are added in order. The block searches
// the indices for its row, one per thread at a time.
template <class T>
__global__ void __launch_bounds__(threads)
    change_rows(row_operands r, row_change how, const place* first_bad) {
  if (*first_bad != nowhere) return;
  __shared__ bool matches[threads];
  const std::int64_t row = blockIdx.x;
  T* const to = r.of_table<T>(row);
  constexpr std::int64_t strip = std::int64_t{threads} * columns_each;
  for (std::int64_t first = threadIdx.x; first - threadIdx.x < r.width; first += strip) {
    const auto column = [&](int c) { return first + std::int64_t{c} * threads; };
    sum_type<T> sums[columns_each] = {};
    for (int c = 0; c < columns_each; ++c) {
      if (how == row_change::add && column(c) < r.width)
        sums[c] = elementwise::widened(to[column(c) * r.table_step]);
    }
    bool changed = how == row_change::sum;
    for (std::int64_t base = 0; base < r.count(); base += threads) {
      const std::int64_t mine = base + threadIdx.x;
      const bool match = mine < r.count() && r.index(mine) == row;
      if (__syncthreads_or(match ? 1 : 0) == 0) continue;
      changed = true;
      matches[threadIdx.x] = match;
      __syncthreads();
      for (unsigned i = 0; i < threads; ++i) {
        if (!matches[i]) continue;
        const T* const from = r.of_list<T>(base + i);
        for (int c = 0; c < columns_each; ++c) {
          if (column(c) >= r.width) break;
          const auto x = elementwise::widened(from[column(c) * r.list_step]);
          sums[c] = how == row_change::set ? x : sums[c] + x;
        }
      }
      __syncthreads();
    }
    if (!changed) return;
    for (int c = 0; c < columns_each; ++c) {
      if (column(c) < r.width) to[column(c) * r.table_step] = elementwise::narrowed_sum<T>(sums[c]);
    }
  }
}

// One block per row: its threads scan a chunk, starting from the total of all earlier chunks.
template <class T>
__global__ void __launch_bounds__(threads)
    cumulate(cumulation_rows rows, const T* from_first, T* to_first) {
  using sum = sum_type<T>;
  constexpr unsigned warp = 32;
  __shared__ sum of_warps[threads / warp];
  const T* const from = from_first + rows.from.offset(blockIdx.x);
  T* const to = to_first + rows.to.offset(blockIdx.x);
  const unsigned in_warp = threadIdx.x % warp;
  sum before = rows.identity<sum>();
  for (std::int64_t base = 0; base < rows.length; base += threads) {
    const std::int64_t i = base + threadIdx.x;
    const bool there = i < rows.length;
    const std::int64_t at = rows.place(i);
    sum scanned = there ? elementwise::widened(from[at * rows.from_step]) : rows.identity<sum>();
    for (unsigned distance = 1; distance < warp; distance *= 2) {
      const sum other = __shfl_up_sync(0xffffffffu, scanned, distance);
      if (in_warp >= distance) scanned = rows.combined(other, scanned);
    }
    if (in_warp == warp - 1) of_warps[threadIdx.x / warp] = scanned;
    __syncthreads();
    sum left = before;
    for (unsigned w = 0; w < threads / warp; ++w) {
      if (w == threadIdx.x / warp) left = before;
      before = rows.combined(before, of_warps[w]);
    }
    const sum earlier = __shfl_up_sync(0xffffffffu, scanned, 1);
    const sum mine = rows.exclusive ? (in_warp == 0 ? left : rows.combined(left, earlier))
                                    : rows.combined(left, scanned);
    if (there) to[at * rows.to_step] = elementwise::narrowed_sum<T>(mine);
    __syncthreads();
  }
}

/// Runs `change` between the check of all indices and the report of its outcome.
template <class Change>
result<void> checked(const row_operands& r, lane& where, late_failure failure, Change change) {
  const auto room = TRY(where.workspace(sizeof(place)));
  auto* const first_bad = reinterpret_cast<place*>(room.data());
  TRY(launch(find_first_bad, 1, checking_threads, where.stream(), r, first_bad));
  TRY(change(first_bad));
  return launch(report, 1, 1, where.stream(), r, first_bad, failure);
}

std::int64_t blocks_of(const row_operands& r) noexcept {
  constexpr std::int64_t most_blocks = 8192;
  return std::min((r.count() * r.width + threads - 1) / threads, most_blocks);
}

template <class Unit>
result<void> enqueue_gather_of(const row_operands& r, lane& where, late_failure failure) {
  const std::int64_t blocks = blocks_of(r);
  if (r.count() <= most_few_read && blocks > 0)
    return launch(gather_few<Unit>, blocks, threads, where.stream(), r, failure);
  return checked(r, where, failure, [&](const place* first_bad) -> result<void> {
    if (blocks == 0) return {};
    return launch(gather<Unit>, blocks, threads, where.stream(), r, first_bad);
  });
}

}  // namespace

result<void> enqueue_gather(const row_operands& r, std::int64_t element_bytes, lane& where,
                            late_failure failure) {
  switch (element_bytes) {
    case 1:
      return enqueue_gather_of<std::uint8_t>(r, where, failure);
    case 2:
      return enqueue_gather_of<std::uint16_t>(r, where, failure);
    case 4:
      return enqueue_gather_of<std::uint32_t>(r, where, failure);
    case 8:
      return enqueue_gather_of<std::uint64_t>(r, where, failure);
    default:
      return enqueue_gather_of<double2>(r, where, failure);
  }
}

result<void> enqueue_row_change(const row_operands& r, dtype type, row_change how, lane& where,
                                late_failure failure) {
  const bool are_few = how != row_change::sum && r.count() > 0 && r.count() <= most_few_changed;
  if (are_few) {
    return elementwise::for_summed_type(type, [&]<class T>(T) {
      return launch(change_few_rows<T>, r.count(), threads, where.stream(), r, how, failure);
    });
  }
  return checked(r, where, failure, [&](const place* first_bad) -> result<void> {
    if (r.rows == 0 || r.width == 0) return {};
    return elementwise::for_summed_type(type, [&]<class T>(T) {
      return launch(change_rows<T>, r.rows, threads, where.stream(), r, how, first_bad);
    });
  });
}

result<void> enqueue_cumulation(const elementwise::cumulate& r, lane& where) {
  if (r.x.empty()) return {};
  const auto rows = cumulation_rows::of(r);
  return elementwise::for_cumulated_type(r.x.type(), [&]<class T>(T) {
    return launch(cumulate<T>, rows.from.count, threads, where.stream(), rows, r.x.data<T>(),
                  r.y.data<T>());
  });
}

}  // namespace troupe::cuda
