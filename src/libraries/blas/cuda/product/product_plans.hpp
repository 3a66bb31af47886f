#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/blas/cuda/product/product.hpp"

#include <troupe/base/result.hpp>

namespace troupe::cuda {

/// True for products that may take the device less time than the processor. cuBLAS chooses a kernel
/// at each call, which is a tenth of the call's time. For such a product cuBLASLt chooses it, in
/// the same way, once for each lane.
[[nodiscard]] bool is_worth_a_plan(const column_major_product& p,
                                   const product_types& types) noexcept;

/// Enqueues `p` as its like was planned when the lane first met it. If cuBLASLt has no kernel for
/// it, cuBLAS is called, which may do it in several steps.
[[nodiscard]] result<void> multiply_as_planned(lane& where, const column_major_product& p,
                                               const product_types& types, const void* alpha,
                                               const void* beta);

}  // namespace troupe::cuda
