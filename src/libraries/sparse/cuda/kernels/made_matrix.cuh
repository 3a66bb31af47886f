#pragma once

#include "backend/cuda/context/late_failure.cuh"

#include <troupe/sparse/matrix.hpp>

#include <cstdint>

/// Matrices that kernels make, up to their capacity.
namespace troupe::cuda {

/// A writable list of integers of either type.
struct made_list {
  std::int32_t* narrow = nullptr;
  std::int64_t* wide = nullptr;

  explicit made_list(const any_tensor& t) {
    if (t.null()) return;
    if (t.type() == dtype::i64) {
      wide = t.data<std::int64_t>();
    } else {
      narrow = t.data<std::int32_t>();
    }
  }
  __device__ void put(std::int64_t i, std::int64_t value) const {
    if (wide != nullptr) {
      wide[i] = value;
    } else if (narrow != nullptr) {
      narrow[i] = static_cast<std::int32_t>(value);
    }
  }
};

struct made_offsets {
  made_list offsets;  ///< not for coo

  explicit made_offsets(const sparse_matrix& to) : offsets(to.offsets) {}
  __device__ void begin_major(std::int64_t i, std::int64_t first) const { offsets.put(i, first); }
};

template <class D>
struct made_matrix : made_offsets {
  made_list row_indices;  ///< coo only
  made_list indices;
  D* values;
  std::int64_t capacity;

  explicit made_matrix(const sparse_matrix& to)
      : made_offsets(to),
        row_indices(to.row_indices),
        indices(to.indices),
        values(reinterpret_cast<D*>(to.values.address())),
        capacity(to.indices.extent(0)) {}
  __device__ void put(std::int64_t k, std::int64_t major, std::int64_t minor,
                      const D& value) const {
    if (k >= capacity) return;
    row_indices.put(k, major);
    indices.put(k, minor);
    values[k] = value;
  }
};

[[nodiscard]] inline std::int64_t* address_of_count(const any_tensor& nnz) {
  return nnz.null() ? nullptr : nnz.data<std::int64_t>();
}

/// Replies with the number of elements, or fails if it exceeds the capacity.
__device__ inline void answer_number(std::int64_t number, std::int64_t capacity, std::int64_t* nnz,
                                     std::int64_t* reply, late_failure failure) {
  if (nnz != nullptr) *nnz = number;
  if (number <= capacity) {
    *reply = number;
  } else {
    failure.write(errc::capacity_exceeded, "needs ", number,
                  " elements, but the result has room for ", capacity);
  }
}

}  // namespace troupe::cuda
