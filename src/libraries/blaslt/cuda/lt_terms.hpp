#pragma once

#include "libraries/blaslt/requests/geometry.hpp"

#include <cublasLt.h>

#include <cstdint>

/// The fields of a request as values of cuBLASLt.
namespace troupe::cuda {

[[nodiscard]] cublasComputeType_t compute_type(const blaslt::matmul& r,
                                               const blaslt::combination& types) noexcept;
/// The type of alpha and beta.
[[nodiscard]] dtype factor_type(const blaslt::combination& types) noexcept;
/// `swapped`: cuBLASLt's A is the request's b.
[[nodiscard]] cublasLtEpilogue_t as_lt(blaslt::epilogue e, bool swapped) noexcept;
[[nodiscard]] std::int32_t as_lt(blaslt::scaling s) noexcept;
[[nodiscard]] cublasOperation_t as_lt(const blaslt::stored_matrix& as, blas::op op,
                                      dtype type) noexcept;

}  // namespace troupe::cuda
