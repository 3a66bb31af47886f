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

__global__ void report(row_operands r, const place* first_bad, late_failure failure) {
  if (*first_bad == nowhere) return;
  const auto k = static_cast<std::int64_t>(*first_bad);
  failure.write(errc::invalid_argument, "index number ", k, " is ", r.index(k),
                ", not within 0 and ", r.rows - 1);
}

template <class Unit>
__global__ void __launch_bounds__(threads) gather(row_operands r, const place* first_bad) {
  if (*first_bad != nowhere) return;
  const std::int64_t all = r.count() * r.width;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t flat = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
       flat < all; flat += step) {
    const std::int64_t k = flat / r.width;
    const std::int64_t j = flat % r.width;
    r.of_list<Unit>(k)[j * r.list_step] = r.of_table<Unit>(r.index(k))[j * r.table_step];
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

template <class Unit>
result<void> enqueue_gather_of(const row_operands& r, lane& where, const place* first_bad) {
  constexpr std::int64_t most_blocks = 8192;
  const std::int64_t all = r.count() * r.width;
  if (all == 0) return {};
  return launch(gather<Unit>, std::min((all - 1) / threads + 1, most_blocks), threads,
                where.stream(), r, first_bad);
}

}  // namespace

result<void> enqueue_gather(const row_operands& r, std::int64_t element_bytes, lane& where,
                            late_failure failure) {
  return checked(r, where, failure, [&](const place* first_bad) {
    switch (element_bytes) {
      case 1:
        return enqueue_gather_of<std::uint8_t>(r, where, first_bad);
      case 2:
        return enqueue_gather_of<std::uint16_t>(r, where, first_bad);
      case 4:
        return enqueue_gather_of<std::uint32_t>(r, where, first_bad);
      case 8:
        return enqueue_gather_of<std::uint64_t>(r, where, first_bad);
      default:
        return enqueue_gather_of<double2>(r, where, first_bad);
    }
  });
}

result<void> enqueue_row_change(const row_operands& r, dtype type, row_change how, lane& where,
                                late_failure failure) {
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
