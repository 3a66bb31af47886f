#pragma once

#include "libraries/solver/cuda/matrices.hpp"

#include <troupe/base/result.hpp>

#include <cstdint>

/// Band solves, which cuSOLVER does not have: a block of threads for each matrix.
namespace troupe::cuda {

/// Band matrices in workspace, and right sides, both overwritten.
struct band_systems {
  const matrices& band;  ///< the storage
  const matrices& x;
  std::int64_t kl = 0;
  std::int64_t ku = 0;
  std::int32_t* info = nullptr;  ///< one per matrix
};

/// Enqueues solving by LU. The storage has kl rows before those of the request.
[[nodiscard]] result<void> solve_by_lu(const band_systems& s, lane& where);
/// Enqueues solving by Cholesky. The storage has one triangle.
[[nodiscard]] result<void> solve_by_cholesky(const band_systems& s, bool upper, lane& where);

}  // namespace troupe::cuda
