#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/dnn/cuda/convolution/convolution_case.hpp"

namespace troupe::cuda {

/// to = epilogue(sums), in a separate pass. `sums` may be the same view as `to`.
[[nodiscard]] result<void> enqueue_after(const epilogue& what, const any_tensor& sums,
                                         const any_tensor& to, lane& where);

}  // namespace troupe::cuda
