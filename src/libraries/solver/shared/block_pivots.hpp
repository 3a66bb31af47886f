#pragma once

#include <cstdint>

/// Pivots of symmetric and Hermitian factorisations, as LAPACK has them.
namespace troupe::solver {

/// The first of `n` pivots that is not within 1 … n, nor one of a pair of a negative one; `n` if
/// all are good. A routine would follow it out of its matrix. constexpr, so that kernels call it
/// too.
[[nodiscard]] constexpr std::int64_t first_bad_block_pivot(const std::int64_t* pivots,
                                                           std::int64_t n) noexcept {
  std::int64_t i = 0;
  while (i < n) {
    const std::int64_t pivot = pivots[i];
    const bool is_single = pivot >= 1 && pivot <= n;
    const bool is_pair = pivot < 0 && pivot >= -n && i + 1 < n && pivots[i + 1] == pivot;
    if (!is_single && !is_pair) return i;
    i += is_pair ? 2 : 1;
  }
  return n;
}

}  // namespace troupe::solver
