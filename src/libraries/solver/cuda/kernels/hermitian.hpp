#pragma once

#include "libraries/solver/cuda/matrices.hpp"

#include <troupe/base/result.hpp>

#include <cstdint>

/// Hermitian indefinite factorisation, which cuSOLVER does not have: a block of threads for each
/// matrix. Triangles and pivots are LAPACK's, xHETRF's.
namespace troupe::cuda {

/// Enqueues factoring the matrices in place. `pivots`: n per matrix; `info`: one per matrix.
[[nodiscard]] result<void> factor_hermitian(const matrices& a, bool upper, std::int64_t* pivots,
                                            std::int32_t* info, lane& where);
/// Enqueues solving, in place of the right sides. The pivots have been admitted.
[[nodiscard]] result<void> solve_hermitian(const matrices& factor, bool upper, std::int64_t* pivots,
                                           const matrices& x, lane& where);

}  // namespace troupe::cuda
