#pragma once

#include "libraries/solver/cuda/matrices.hpp"

#include <troupe/base/result.hpp>

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// The results of QR with pivoting of columns, packed, and its workspace.
struct pivoted_arrays {
  std::byte* tau = nullptr;
  std::int64_t* order = nullptr;  ///< the column that each one was, from 0
  std::byte* lengths = nullptr;   ///< `bytes_of_lengths`
};
[[nodiscard]] inline std::int64_t bytes_of_lengths(const matrices& a) noexcept {
  return 2 * a.columns * a.count * size_of(a.type);  // twice what complex types need
}
/// True if a block factors each matrix alone. Otherwise, two kernels factor a column of all.
[[nodiscard]] constexpr bool fits_block(const matrices& a) noexcept {
  return a.rows <= 256 && (a.columns <= 32 || (a.count > 1 && a.columns <= 256));
}
/// Enqueues QR with pivoting of columns, which cuSOLVER does not have. Overwrites the matrices, of
/// which there are some, with columns.
[[nodiscard]] result<void> factor_pivoted(const matrices& a, const pivoted_arrays& to, lane& where);

}  // namespace troupe::cuda
