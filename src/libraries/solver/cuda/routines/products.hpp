#pragma once

#include "libraries/solver/cuda/matrices.hpp"

#include <troupe/base/result.hpp>

#include <cublas_v2.h>

#include <cstdint>

namespace troupe::cuda {

/// Enqueues c = op_a(a) · b for one matrix of each batch, in the precision of the type.
[[nodiscard]] result<void> multiply(cublasOperation_t op_a, const matrices& a, const matrices& b,
                                    const matrices& c, std::int64_t matrix, lane& where);

/// Enqueues solving op(r) · x = b for the upper triangle r of one matrix. x overwrites b's first
/// rows.
[[nodiscard]] result<void> solve_upper(cublasOperation_t op, const matrices& r, std::int64_t n,
                                       const matrices& b, std::int64_t matrix, lane& where);

}  // namespace troupe::cuda
