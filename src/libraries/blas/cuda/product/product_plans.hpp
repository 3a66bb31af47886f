#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/blas/cuda/product/product.hpp"

#include <troupe/base/result.hpp>

namespace troupe::cuda {

/// True for products that may take less of the device's time than of the processor's: one that
/// cuBLAS calls anew chooses its kernel anew, a tenth of what the call takes. Such a product has
/// its kernel chosen once for each lane, by cuBLASLt, as cuBLAS does it.
[[nodiscard]] bool is_worth_a_plan(const column_major_product& p,
                                   const product_types& types) noexcept;

/// Enqueues `p` as its like was planned when the lane first met it. Where cuBLASLt has no kernel
/// for it, cuBLAS is called, which may do it in several steps.
[[nodiscard]] result<void> multiply_as_planned(lane& where, const column_major_product& p,
                                               const product_types& types, const void* alpha,
                                               const void* beta);

}  // namespace troupe::cuda
