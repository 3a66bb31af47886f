#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/base/result.hpp>
#include <troupe/blas/batched.hpp>

namespace troupe::cuda {

/// Products of matrices that lie anywhere. One call of cuBLAS where it takes them together, else
/// one for each.
[[nodiscard]] result<void> multiply_list(const blas::gemm_batched& r, lane& where);
[[nodiscard]] result<void> multiply_groups(const blas::gemm_grouped& r, lane& where);

}  // namespace troupe::cuda
