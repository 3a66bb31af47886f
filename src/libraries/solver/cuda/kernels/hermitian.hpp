#pragma once

#include "libraries/solver/cuda/matrices.hpp"

#include <troupe/base/result.hpp>

#include <cstdint>

/// Hermitian indefinite factorisation, which cuSOLVER does not have, and solving with such factors
/// and with symmetric ones: a block of threads for each matrix. Triangles and pivots are LAPACK's,
/// xHETRF's. cuSOLVER's Xsytrs reads memory that is not its own, for a matrix of 1 × 1 too (12.0.4
/// on an H200, conformance of sytrs, 2026-11-27).
namespace troupe::cuda {

/// Enqueues factoring the matrices in place. `pivots`: n per matrix; `info`: one per matrix.
[[nodiscard]] result<void> factor_hermitian(const matrices& a, bool upper, std::int64_t* pivots,
                                            std::int32_t* info, lane& where);
/// How factors are stored.
struct indefinite_form {
  bool upper = false;
  bool symmetric = false;  ///< else Hermitian
};
/// Enqueues solving, in place of the right sides. The pivots have been admitted.
[[nodiscard]] result<void> solve_indefinite(const matrices& factor, indefinite_form form,
                                            std::int64_t* pivots, const matrices& x, lane& where);

}  // namespace troupe::cuda
