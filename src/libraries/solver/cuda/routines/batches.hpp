#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/blas/cuda/cublas.hpp"
#include "libraries/solver/cuda/matrices.hpp"

#include <troupe/base/result.hpp>

#include <cstdint>

/// Routines of cuBLAS and cuSOLVER on all matrices of a batch at once, by lists of addresses.
/// Batches whose size exceeds 32 bits are done in parts.
namespace troupe::cuda {

/// True if a batch of matrices of this size is faster at once than one by one.
[[nodiscard]] constexpr bool is_batch_of_small(std::int64_t count, std::int64_t n) noexcept {
  return count > 1 && n <= 256;
}

/// Matrices, and the list of their addresses in device memory.
struct listed {
  const matrices& all;
  void** list = nullptr;

  template <class T>
  [[nodiscard]] T* const* from(std::int64_t matrix) const noexcept {
    return reinterpret_cast<T* const*>(list + matrix);
  }
};
[[nodiscard]] result<void> write_list(const listed& l, lane& where);

[[nodiscard]] result<void> getrf_batched(const listed& a, std::int32_t* pivots, std::int32_t* info,
                                         lane& where);
/// Overwrites the matrices of `b`.
[[nodiscard]] result<void> getrs_batched(const listed& a, cublasOperation_t op,
                                         const std::int32_t* pivots, const listed& b, lane& where);
[[nodiscard]] result<void> potrf_batched(const listed& a, bool upper, std::int32_t* info,
                                         lane& where);
[[nodiscard]] result<void> potrs_batched(const listed& a, bool upper, const listed& b, lane& where);
/// `tau` lists the addresses of min(rows, columns) elements for each matrix.
[[nodiscard]] result<void> geqrf_batched(const listed& a, void** tau, lane& where);

}  // namespace troupe::cuda
