#pragma once

#include "libraries/sparse/cuda/kernels/dense.cuh"
#include "libraries/sparse/cuda/kernels/grid.cuh"
#include "libraries/sparse/cuda/kernels/made_matrix.cuh"
#include "libraries/sparse/cuda/kernels/report.cuh"
#include "libraries/sparse/cuda/kernels/values.cuh"

#include <cstdint>

// Elements of matrices, sorted by their places in another one, and sums of those that have one
// place.
namespace troupe::cuda {
namespace {

/// The order of elements by position. Padding and elements without a position come last.
struct place_order {
  std::int64_t majors;
  std::int64_t minors;
  bool by_columns;

  explicit place_order(const sparse_matrix& to)
      : majors(to.format == sparse_format::csc ? to.columns : to.rows),
        minors(to.format == sparse_format::csc ? to.rows : to.columns),
        by_columns(to.format == sparse_format::csc) {}
  [[nodiscard]] __host__ __device__ std::uint64_t last() const {
    return static_cast<std::uint64_t>(majors) * static_cast<std::uint64_t>(minors);
  }
};

/// The place of a matrix that is the first of the result.
struct first_place {
  std::int64_t row = 0;
  std::int64_t column = 0;
};

/// Numbers the elements from `number` on; those outside of the result come last, as padding does.
template <class Number>
__global__ void make_keys(sparse::pattern p, std::int64_t stored, place_order order,
                          first_place first, std::int64_t number, std::uint64_t* keys,
                          Number* numbers) {
  const std::int64_t e = thread_number();
  if (e >= stored) return;
  const sparse::element_place place = p.place_of(e);
  const std::int64_t row = place.row - first.row;
  const std::int64_t column = place.column - first.column;
  const std::int64_t major = order.by_columns ? column : row;
  const std::int64_t minor = order.by_columns ? row : column;
  const bool is_inside = place.what == sparse::element_place::kind::element && major >= 0 &&
                         major < order.majors && minor >= 0 && minor < order.minors;
  keys[e] = is_inside ? static_cast<std::uint64_t>(major * order.minors + minor) : order.last();
  numbers[e] = static_cast<Number>(number + e);
}

/// The number of sorted keys that are less than `key`.
__device__ std::int64_t count_below(const std::uint64_t* keys, std::int64_t count,
                                    std::uint64_t key) {
  std::int64_t low = 0;
  std::int64_t high = count;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (keys[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Stores 1 for each element that begins a place.
__global__ void mark_places(const std::uint64_t* keys, std::int64_t count, place_order order,
                            std::int64_t* marks) {
  const std::int64_t k = thread_number();
  if (k >= count) return;
  marks[k] = keys[k] < order.last() && (k == 0 || keys[k] != keys[k - 1]) ? 1 : 0;
}

__global__ void begin_added(const std::uint64_t* keys, const std::int64_t* places,
                            std::int64_t count, place_order order, made_offsets to) {
  const std::int64_t i = thread_number();
  if (i > order.majors) return;
  const auto first = static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(order.minors);
  const std::int64_t before = count_below(keys, count, first);
  to.begin_major(i, before == 0 ? 0 : places[before - 1]);
}

/// The values of the sum's two matrices. Those with a factor of 0 are not read.
template <class D, class W>
struct added_values {
  const D* a;
  const D* b;
  std::int64_t of_a;
  W alpha, beta;
  bool with_a, with_b;

  [[nodiscard]] __device__ W operator[](std::int64_t number) const {
    if (number < of_a) return with_a ? alpha * widened(a[number]) : W{};
    return with_b ? beta * widened(b[number - of_a]) : W{};
  }
};

template <class D, class W>
__global__ void put_sums(const std::uint64_t* keys, const std::uint64_t* numbers,
                         const std::int64_t* places, std::int64_t count, place_order order,
                         added_values<D, W> values, made_matrix<D> to) {
  const std::int64_t k = thread_number();
  if (k >= count || keys[k] >= order.last() || (k > 0 && keys[k] == keys[k - 1])) return;
  W sum{};
  for (std::int64_t q = k; q < count && keys[q] == keys[k]; ++q)
    sum = sum + values[static_cast<std::int64_t>(numbers[q])];
  const auto key = static_cast<std::int64_t>(keys[k]);
  to.put(places[k] - 1, key / order.minors, key % order.minors, narrowed<D>::from(sum));
}

__global__ void answer_added(const std::int64_t* places, std::int64_t count, std::int64_t capacity,
                             std::int64_t* nnz, std::int64_t* reply, pattern_report of_a,
                             pattern_report of_b, late_failure failure) {
  if (of_a.write(failure) || of_b.write(failure)) return;
  answer_number(count == 0 ? 0 : places[count - 1], capacity, nnz, reply, failure);
}

}  // namespace
}  // namespace troupe::cuda
