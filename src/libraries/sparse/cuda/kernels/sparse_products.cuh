#pragma once

#include "libraries/sparse/cuda/kernels/made_matrix.cuh"
#include "libraries/sparse/cuda/kernels/values.cuh"
#include "libraries/sparse/shared/sparse_factors.hpp"

#include <cstdint>

// Each product of two elements gets a number: its position in the result. The numbers are sorted,
// and equal ones form one element. The host needs the number of products to allocate memory.
namespace troupe::cuda {
namespace {

constexpr unsigned threads = 256;

struct factor_patterns {
  sparse::pattern left;
  sparse::pattern right;

  explicit factor_patterns(const sparse::sparse_factors& f) noexcept
      : left(sparse::pattern_of(f.left)), right(sparse::pattern_of(f.right)) {}

  [[nodiscard]] constexpr std::int64_t rows() const noexcept { return left.majors; }
  [[nodiscard]] constexpr std::int64_t columns() const noexcept { return right.minors(); }
};

__device__ std::int64_t first_of_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
}
__device__ std::int64_t stride_of_threads() {
  return static_cast<std::int64_t>(gridDim.x) * threads;
}

/// Counts the products of each element of the left factor. For a wrong pattern the counts are
/// arbitrary.
__global__ void __launch_bounds__(threads) count_products(factor_patterns f, std::int64_t* counts) {
  for (std::int64_t l = first_of_thread(); l < f.left.slots; l += stride_of_threads()) {
    const std::int64_t k = f.left.indices[l];
    const slot_range range = is_inside(k, f.right.majors) ? range_of(f.right, k) : slot_range{};
    counts[l] = range.end - range.begin;
  }
}

/// The two elements of product `p`.
struct factor_slots {
  std::int64_t left;
  std::int64_t right;
};
__device__ factor_slots slots_of(const factor_patterns& f, const std::int64_t* ends,
                                 std::int64_t p) {
  std::int64_t low = 0;
  std::int64_t high = f.left.slots - 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (ends[middle] > p) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  const std::int64_t before = low == 0 ? 0 : ends[low - 1];
  return {low, range_of(f.right, f.left.indices[low]).begin + (p - before)};
}

__global__ void __launch_bounds__(threads)
    expand(factor_patterns f, const std::int64_t* ends, std::int64_t products, place* keys,
           place* numbers) {
  for (std::int64_t p = first_of_thread(); p < products; p += stride_of_threads()) {
    const factor_slots at = slots_of(f, ends, p);
    const std::int64_t row = f.left.major_of(at.left);
    keys[p] = static_cast<place>(row * f.columns() + f.right.indices[at.right]);
    numbers[p] = static_cast<place>(p);
  }
}

/// Stores 1 for each product that begins a new element.
__global__ void __launch_bounds__(threads)
    mark(const place* keys, std::int64_t products, std::int64_t* marks) {
  for (std::int64_t p = first_of_thread(); p < products; p += stride_of_threads())
    marks[p] = p == 0 || keys[p] != keys[p - 1] ? 1 : 0;
}

/// The sorted products, and the number of elements up to each.
struct sorted_products {
  const place* keys;
  const place* numbers;
  const std::int64_t* elements;
  std::int64_t count;

  [[nodiscard]] __device__ std::int64_t total() const {
    return count == 0 ? 0 : elements[count - 1];
  }
};

/// Writes the index of each element and the sum of its products, in their order.
template <class T, class W>
__global__ void __launch_bounds__(threads)
    write_elements(factor_patterns f, const std::int64_t* ends, sorted_products of, const T* left,
                   const T* right, W alpha, std::int64_t capacity, made_list indices, T* values) {
  for (std::int64_t p = first_of_thread(); p < of.count; p += stride_of_threads()) {
    const std::int64_t element = of.elements[p] - 1;
    if (element >= capacity || (p > 0 && of.elements[p - 1] == of.elements[p])) continue;
    W sum{};
    for (std::int64_t q = p; q < of.count && of.keys[q] == of.keys[p]; ++q) {
      const factor_slots at = slots_of(f, ends, static_cast<std::int64_t>(of.numbers[q]));
      sum = sum + widened(left[at.left]) * widened(right[at.right]);
    }
    indices.put(element, static_cast<std::int64_t>(of.keys[p]) % f.columns());
    values[element] = narrowed<T>::from(alpha * sum);
  }
}

__global__ void __launch_bounds__(threads)
    write_offsets(factor_patterns f, sorted_products of, made_list offsets) {
  for (std::int64_t i = first_of_thread(); i <= f.rows(); i += stride_of_threads()) {
    const auto key = static_cast<place>(i * f.columns());
    std::int64_t low = 0;  // the first product that is not before row i
    std::int64_t high = i == f.rows() ? 0 : of.count;
    if (i == f.rows()) low = of.count;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (of.keys[middle] < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    offsets.put(i, low == 0 ? 0 : of.elements[low - 1]);
  }
}

__global__ void conclude(sorted_products of, std::int64_t capacity, std::int64_t* nnz,
                         std::int64_t* reply, late_failure failure) {
  answer_number(of.total(), capacity, nnz, reply, failure);
}

}  // namespace
}  // namespace troupe::cuda
